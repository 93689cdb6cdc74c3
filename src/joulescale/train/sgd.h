// SPDX-License-Identifier: Apache-2.0
// Stochastic gradient descent with momentum and weight decay, as torch.optim.SGD computes it
// (no dampening, no Nesterov). Includes torch: for .cpp files of this room only.
#pragma once

#include <vector>

#include <torch/torch.h>

namespace joulescale {

class Sgd {
 public:
  Sgd(std::vector<torch::Tensor> parameters, double momentum, double weight_decay);

  /// g += weight_decay * p; v = momentum * v + g; p -= learning_rate * v. Uses the gradients up:
  /// set them to zero before the next backward pass.
  void step(double learning_rate);

 private:
  std::vector<torch::Tensor> parameters_;
  std::vector<torch::Tensor> velocities_;
  double momentum_;
  double weight_decay_;
};

}  // namespace joulescale
