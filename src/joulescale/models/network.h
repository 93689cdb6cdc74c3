// SPDX-License-Identifier: Apache-2.0
// What every network is to the trainer. Includes torch: for .cpp files of models and train only.
#pragma once

#include <memory>

#include <torch/torch.h>

#include "joulescale/base/error.h"
#include "joulescale/models/catalogue.h"

namespace joulescale {

/// Tensors: N samples, C channels, H rows, W columns, K classes.
class Network : public torch::nn::Module {
 public:
  /// images [N, C, H, W] float to logits [N, K]. Throws as torch does.
  virtual torch::Tensor forward(const torch::Tensor& images) = 0;
};

/// A network with its initial weights, drawn from torch's default generator. Weights of
/// convolutions are laid out channels-last.
Result<std::shared_ptr<Network>> make_network(const ModelSpec& spec);

/// The two families, by depth (He et al. 2015: section 4.2, and table 1).
std::shared_ptr<Network> make_cifar_resnet(int depth, const ModelSpec& spec);
std::shared_ptr<Network> make_resnet(int depth, const ModelSpec& spec);

}  // namespace joulescale
