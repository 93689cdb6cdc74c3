// SPDX-License-Identifier: Apache-2.0
// ResNet-18/34/50/101/152 (He et al. 2015, table 1) in the form known as v1.5: a bottleneck that
// narrows the image does so in its 3x3 convolution. Names, order of construction and
// initialisation follow torchvision, so that state dicts are interchangeable.
#include <array>

#include "joulescale/models/network.h"

namespace joulescale {
namespace {

constexpr std::array<std::int64_t, 4> kStageWidths = {64, 128, 256, 512};
constexpr std::int64_t kBottleneckExpansion = 4;

struct Layout {
  bool bottleneck;
  std::array<int, 4> blocks;
};

Layout layout_of(int depth) {
  switch (depth) {
    case 18:
      return {false, {2, 2, 2, 2}};
    case 34:
      return {false, {3, 4, 6, 3}};
    case 50:
      return {true, {3, 4, 6, 3}};
    case 101:
      return {true, {3, 4, 23, 3}};
    default:
      JOULESCALE_CHECK(depth == 152);
      return {true, {3, 8, 36, 3}};
  }
}

torch::nn::Conv2d conv(std::int64_t in, std::int64_t out, std::int64_t size, std::int64_t stride) {
  return torch::nn::Conv2d(
      torch::nn::Conv2dOptions(in, out, size).stride(stride).padding((size - 1) / 2).bias(false));
}

/// Both kinds of block: two 3x3 convolutions, or 1x1, 3x3, 1x1.
class ResnetBlock : public torch::nn::Module {
 public:
  ResnetBlock(bool bottleneck,
              std::int64_t in,
              std::int64_t width,
              std::int64_t stride,
              torch::nn::Sequential downsample)
      : bottleneck_(bottleneck) {
    conv1_ =
        register_module("conv1", bottleneck ? conv(in, width, 1, 1) : conv(in, width, 3, stride));
    bn1_ = register_module("bn1", torch::nn::BatchNorm2d(width));
    conv2_ = register_module("conv2", conv(width, width, 3, bottleneck ? stride : 1));
    bn2_ = register_module("bn2", torch::nn::BatchNorm2d(width));
    if (bottleneck) {
      const std::int64_t out = width * kBottleneckExpansion;
      conv3_ = register_module("conv3", conv(width, out, 1, 1));
      bn3_ = register_module("bn3", torch::nn::BatchNorm2d(out));
    }
    if (!downsample.is_empty()) {
      downsample_ = register_module("downsample", std::move(downsample));
    }
  }

  torch::Tensor forward(const torch::Tensor& x) {
    auto y = bn1_(conv1_(x)).relu_();
    y = bn2_(conv2_(y));
    if (bottleneck_) {
      y = bn3_(conv3_(y.relu_()));
    }
    const auto shortcut = downsample_.is_empty() ? x : downsample_->forward(x);
    return y.add_(shortcut).relu_();
  }

 private:
  bool bottleneck_;
  torch::nn::Conv2d conv1_{nullptr};
  torch::nn::BatchNorm2d bn1_{nullptr};
  torch::nn::Conv2d conv2_{nullptr};
  torch::nn::BatchNorm2d bn2_{nullptr};
  torch::nn::Conv2d conv3_{nullptr};
  torch::nn::BatchNorm2d bn3_{nullptr};
  torch::nn::Sequential downsample_{nullptr};
};

class Resnet : public Network {
 public:
  Resnet(int depth, const ModelSpec& spec) {
    const Layout layout = layout_of(depth);
    channels_ = kStageWidths.front();
    conv1_ = register_module("conv1", conv(spec.in_channels, channels_, 7, 2));
    bn1_ = register_module("bn1", torch::nn::BatchNorm2d(channels_));
    for (std::size_t stage = 0; stage < kStageWidths.size(); ++stage) {
      layers_[stage] =
          register_module("layer" + std::to_string(stage + 1), make_stage(layout, stage));
    }
    fc_ = register_module("fc", torch::nn::Linear(channels_, spec.num_classes));
    initialize();
  }

  torch::Tensor forward(const torch::Tensor& images) override {
    auto x = bn1_(conv1_(images)).relu_();
    x = torch::max_pool2d(x, /*kernel_size=*/3, /*stride=*/2, /*padding=*/1);
    for (auto& layer : layers_) {
      x = layer->forward(x);
    }
    return fc_(torch::adaptive_avg_pool2d(x, {1, 1}).flatten(1));
  }

 private:
  torch::nn::Sequential make_stage(const Layout& layout, std::size_t stage) {
    const std::int64_t width = kStageWidths[stage];
    const std::int64_t out = width * (layout.bottleneck ? kBottleneckExpansion : 1);
    torch::nn::Sequential blocks;
    for (int block = 0; block < layout.blocks[stage]; ++block) {
      const std::int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      torch::nn::Sequential downsample{nullptr};
      if (stride != 1 || channels_ != out) {
        downsample =
            torch::nn::Sequential(conv(channels_, out, 1, stride), torch::nn::BatchNorm2d(out));
      }
      blocks->push_back(ResnetBlock(layout.bottleneck, channels_, width, stride, downsample));
      channels_ = out;
    }
    return blocks;
  }

  void initialize() {
    for (const auto& module : modules(/*include_self=*/false)) {
      if (auto* convolution = module->as<torch::nn::Conv2d>()) {
        torch::nn::init::kaiming_normal_(convolution->weight, 0.0, torch::kFanOut, torch::kReLU);
      }
    }
  }

  std::int64_t channels_ = 0;  // of the stage built last
  torch::nn::Conv2d conv1_{nullptr};
  torch::nn::BatchNorm2d bn1_{nullptr};
  std::array<torch::nn::Sequential, 4> layers_{nullptr, nullptr, nullptr, nullptr};
  torch::nn::Linear fc_{nullptr};
};

}  // namespace

std::shared_ptr<Network> make_resnet(int depth, const ModelSpec& spec) {
  return std::make_shared<Resnet>(depth, spec);
}

}  // namespace joulescale
