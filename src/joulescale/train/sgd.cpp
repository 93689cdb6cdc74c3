// SPDX-License-Identifier: Apache-2.0
#include "joulescale/train/sgd.h"

#include <utility>

namespace joulescale {

Sgd::Sgd(std::vector<torch::Tensor> parameters, double momentum, double weight_decay)
    : parameters_(std::move(parameters)), momentum_(momentum), weight_decay_(weight_decay) {
  velocities_.reserve(parameters_.size());
  for (const auto& parameter : parameters_) {
    velocities_.push_back(torch::zeros_like(parameter));
  }
}

void Sgd::step(double learning_rate) {
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> gradients;
  gradients.reserve(parameters_.size());
  for (const auto& parameter : parameters_) {
    gradients.push_back(parameter.grad());
  }
  torch::_foreach_add_(gradients, parameters_, weight_decay_);
  torch::_foreach_mul_(velocities_, momentum_);
  torch::_foreach_add_(velocities_, gradients);
  torch::_foreach_add_(parameters_, velocities_, -learning_rate);
}

}  // namespace joulescale
