// SPDX-License-Identifier: Apache-2.0
// The residual networks for small images of He et al. 2015 ("Deep Residual Learning for Image
// Recognition"), section 4.2: 6n + 2 layers, three stages of 16, 32 and 64 channels, shortcuts
// without parameters (option A).
#include <array>

#include "joulescale/models/network.h"

namespace joulescale {
namespace {

constexpr std::array<std::int64_t, 3> kStageChannels = {16, 32, 64};

torch::nn::Conv2d conv3x3(std::int64_t in, std::int64_t out, std::int64_t stride) {
  return torch::nn::Conv2d(
      torch::nn::Conv2dOptions(in, out, 3).stride(stride).padding(1).bias(false));
}

/// Two 3x3 convolutions and an identity shortcut. Where the block narrows the image, the shortcut
/// takes every second row and column and fills the new channels with zeros, half before and half
/// after the old ones.
class CifarBlock : public torch::nn::Module {
 public:
  CifarBlock(std::int64_t in, std::int64_t out, std::int64_t stride)
      : stride_(stride), padding_((out - in) / 2) {
    conv1_ = register_module("conv1", conv3x3(in, out, stride));
    bn1_ = register_module("bn1", torch::nn::BatchNorm2d(out));
    conv2_ = register_module("conv2", conv3x3(out, out, 1));
    bn2_ = register_module("bn2", torch::nn::BatchNorm2d(out));
  }

  torch::Tensor forward(const torch::Tensor& x) {
    auto y = bn1_(conv1_(x)).relu_();
    y = bn2_(conv2_(y));
    return y.add_(shortcut(x)).relu_();
  }

 private:
  torch::Tensor shortcut(const torch::Tensor& x) const {
    using torch::indexing::None;
    using torch::indexing::Slice;
    if (stride_ == 1 && padding_ == 0) {
      return x;
    }
    const auto sampled =
        x.index({Slice(), Slice(), Slice(None, None, stride_), Slice(None, None, stride_)});
    return torch::constant_pad_nd(sampled, {0, 0, 0, 0, padding_, padding_});
  }

  std::int64_t stride_;
  std::int64_t padding_;
  torch::nn::Conv2d conv1_{nullptr};
  torch::nn::BatchNorm2d bn1_{nullptr};
  torch::nn::Conv2d conv2_{nullptr};
  torch::nn::BatchNorm2d bn2_{nullptr};
};

class CifarResnet : public Network {
 public:
  CifarResnet(int depth, const ModelSpec& spec) {
    const int blocks_per_stage = (depth - 2) / 6;
    std::int64_t channels = kStageChannels.front();
    conv1_ = register_module("conv1", conv3x3(spec.in_channels, channels, 1));
    bn1_ = register_module("bn1", torch::nn::BatchNorm2d(channels));
    for (std::size_t stage = 0; stage < kStageChannels.size(); ++stage) {
      torch::nn::Sequential layer;
      for (int block = 0; block < blocks_per_stage; ++block) {
        const bool narrows = stage > 0 && block == 0;
        layer->push_back(CifarBlock(channels, kStageChannels[stage], narrows ? 2 : 1));
        channels = kStageChannels[stage];
      }
      layers_[stage] = register_module("layer" + std::to_string(stage + 1), layer);
    }
    fc_ = register_module("fc", torch::nn::Linear(channels, spec.num_classes));
    initialize();
  }

  torch::Tensor forward(const torch::Tensor& images) override {
    auto x = bn1_(conv1_(images)).relu_();
    for (auto& layer : layers_) {
      x = layer->forward(x);
    }
    return fc_(x.mean({2, 3}));
  }

 private:
  /// The paper's: normal weights of variance 2 / fan-in for convolutions (He et al. 2015,
  /// "Delving Deep into Rectifiers"); BatchNorm 1 and 0, the last layer torch's default.
  void initialize() {
    for (const auto& module : modules(/*include_self=*/false)) {
      if (auto* conv = module->as<torch::nn::Conv2d>()) {
        torch::nn::init::kaiming_normal_(conv->weight, 0.0, torch::kFanIn, torch::kReLU);
      }
    }
  }

  torch::nn::Conv2d conv1_{nullptr};
  torch::nn::BatchNorm2d bn1_{nullptr};
  std::array<torch::nn::Sequential, 3> layers_{nullptr, nullptr, nullptr};
  torch::nn::Linear fc_{nullptr};
};

}  // namespace

std::shared_ptr<Network> make_cifar_resnet(int depth, const ModelSpec& spec) {
  return std::make_shared<CifarResnet>(depth, spec);
}

}  // namespace joulescale
