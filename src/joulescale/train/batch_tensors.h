// SPDX-License-Identifier: Apache-2.0
// Batches of a data set as tensors. Includes torch: for .cpp files of this room only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <torch/torch.h>

#include "joulescale/data/image_batch.h"

namespace joulescale {

struct Batch {
  torch::Tensor images;  // [N, C, H, W] float, channels-last in memory
  torch::Tensor labels;  // [N] int64
};

/// Writes each batch into one buffer that it keeps: a batch is valid until the next call.
class BatchTensors {
 public:
  /// The data set outlives this.
  BatchTensors(const ImageDataset& dataset,
               const Normalization& normalization,
               std::int64_t max_samples,
               torch::Device device);

  /// 1 to max_samples samples.
  Batch load(std::span<const std::uint32_t> samples,
             Augmentation augmentation,
             std::uint64_t seed,
             std::int64_t epoch);

 private:
  const ImageDataset& dataset_;
  const Normalization& normalization_;
  torch::Device device_;
  torch::Tensor images_;  // [max_samples, H, W, C], on the CPU
  torch::Tensor labels_;
  std::vector<AugmentationDraw> draws_;
};

}  // namespace joulescale
