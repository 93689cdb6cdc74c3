// SPDX-License-Identifier: Apache-2.0
#include "joulescale/models/network.h"

#include <string>
#include <string_view>

#include "joulescale/base/text.h"

namespace joulescale {
namespace {

constexpr std::string_view kResnetPrefix = "resnet";

/// 6n + 2 layers: the CIFAR family. The depths of the ImageNet family are all of another form.
bool is_cifar_depth(int depth) { return (depth - 2) % 6 == 0 && depth != 50 && depth != 152; }

}  // namespace

Result<std::shared_ptr<Network>> make_network(const ModelSpec& spec) {
  JOULESCALE_TRY(check_model(spec.name));
  const auto depth = parse_int64(std::string_view(spec.name).substr(kResnetPrefix.size()));
  JOULESCALE_CHECK(depth.has_value());
  const int layers = static_cast<int>(*depth);
  try {
    auto network =
        is_cifar_depth(layers) ? make_cifar_resnet(layers, spec) : make_resnet(layers, spec);
    const torch::NoGradGuard no_grad;
    for (auto& parameter : network->parameters()) {
      if (parameter.dim() == 4) {
        // Not contiguous(ChannelsLast), which keeps the strides of the other layout where both
        // have the same order (one channel, 1x1 kernels); gradients come in channels-last strides.
        parameter.set_data(
            torch::empty(parameter.sizes(),
                         parameter.options().memory_format(torch::MemoryFormat::ChannelsLast))
                .copy_(parameter));
      }
    }
    return network;
  } catch (const c10::Error& error) {
    return Error(ErrorCode::kInternal, error.what_without_backtrace()).with_context(spec.name);
  }
}

}  // namespace joulescale
