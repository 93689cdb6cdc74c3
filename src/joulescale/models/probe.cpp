// SPDX-License-Identifier: Apache-2.0
#include "joulescale/models/probe.h"

#include <algorithm>

#include "joulescale/models/network.h"

namespace joulescale {
namespace {

constexpr std::int64_t kNumShownOutputs = 4;

/// function(scale * i + offset) for i = 0, 1, …, computed in double and stored as float, in the
/// logical (not the memory) order of `shape`.
torch::Tensor wave(torch::IntArrayRef shape,
                   torch::Tensor (*function)(const torch::Tensor&),
                   double scale,
                   double offset) {
  const std::int64_t count = c10::multiply_integers(shape);
  const auto steps = torch::arange(count, torch::kFloat64);
  return function(steps * scale + offset).reshape(shape);
}

torch::Tensor sine(const torch::Tensor& x) { return torch::sin(x); }
torch::Tensor cosine(const torch::Tensor& x) { return torch::cos(x); }

void fill_parameters(Network& network) {
  const torch::NoGradGuard no_grad;
  double k = 0.0;
  for (auto& parameter : network.parameters()) {
    parameter.copy_(0.1 * wave(parameter.sizes(), sine, 0.37, k));
    k += 1.0;
  }
  for (const auto& module : network.modules()) {
    if (auto* norm = module->as<torch::nn::BatchNorm2d>()) {
      norm->weight.add_(1.0);
    }
  }
}

ProbeResult run_probe(Network& network, const ProbeOptions& options) {
  fill_parameters(network);
  network.eval();
  const auto images = wave({options.batch_size,
                            options.model.in_channels,
                            options.image_height,
                            options.image_width},
                           cosine,
                           0.11,
                           0.0)
                          .to(torch::kFloat32);
  const auto labels = torch::arange(options.batch_size, torch::kInt64) % options.model.num_classes;
  const auto output = network.forward(images);
  const auto loss = torch::nn::functional::cross_entropy(output, labels);
  loss.backward();

  ProbeResult result;
  const auto flat = output.detach().to(torch::kFloat64).flatten();
  result.output_sum = flat.sum().item<double>();
  result.output_abs_sum = flat.abs().sum().item<double>();
  const std::int64_t shown = std::min(kNumShownOutputs, flat.numel());
  for (std::int64_t i = 0; i < shown; ++i) {
    result.output_first.push_back(flat[i].item<double>());
    result.output_last.push_back(flat[flat.numel() - shown + i].item<double>());
  }
  result.loss = loss.item<double>();
  for (const auto& item : network.named_parameters()) {
    result.parameters += item.value().numel();
    const auto& gradient = item.value().grad();
    result.grad_norms.emplace_back(
        item.key(),
        gradient.defined() ? std::optional(gradient.to(torch::kFloat64).norm().item<double>())
                           : std::nullopt);
  }
  return result;
}

}  // namespace

Result<std::vector<ParameterInfo>> model_parameters(const ModelSpec& spec) {
  JOULESCALE_TRY_ASSIGN(const auto network, make_network(spec));
  std::vector<ParameterInfo> infos;
  for (const auto& item : network->named_parameters()) {
    infos.push_back({item.key(), item.value().sizes().vec(), item.value().numel()});
  }
  return infos;
}

Result<std::vector<std::string>> model_state_names(const ModelSpec& spec) {
  JOULESCALE_TRY_ASSIGN(const auto network, make_network(spec));
  std::vector<std::string> names = network->named_parameters().keys();
  for (const auto& item : network->named_buffers()) {
    names.push_back(item.key());
  }
  return names;
}

Result<ProbeResult> probe_network(const ProbeOptions& options) {
  JOULESCALE_TRY_ASSIGN(const auto network, make_network(options.model));
  try {
    return run_probe(*network, options);
  } catch (const c10::Error& error) {
    return Error(ErrorCode::kInternal, error.what_without_backtrace())
        .with_context(options.model.name);
  }
}

}  // namespace joulescale
