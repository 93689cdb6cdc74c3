// SPDX-License-Identifier: Apache-2.0
// The gradient of one update: forward and backward passes over its micro-batches, averaged over
// ranks. Includes torch: for .cpp files of this room (and tests) only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "joulescale/data/sampler.h"
#include "joulescale/models/network.h"
#include "joulescale/parallel/communicator.h"
#include "joulescale/train/batch_tensors.h"
#include "joulescale/train/phases.h"

namespace joulescale {

/// What the passes of a run share.
struct PassSettings {
  Augmentation augmentation = Augmentation::kNone;
  std::uint64_t seed = 0;
  torch::Device device;
};

struct UpdateLoss {
  double loss_sum = 0.0;  // over the samples of this rank
  std::int64_t samples = 0;
};

class UpdateGradients {
 public:
  /// All arguments but the settings outlive this.
  UpdateGradients(Network& network,
                  const ImageDataset& dataset,
                  const Normalization& normalization,
                  const BatchPlan& batches,
                  const PassSettings& settings,
                  Communicator& communicator,
                  MarkWriter& marks,
                  const Device& device);

  /// Adds the mean gradient over the samples of an update (of all ranks) to the parameters'
  /// gradients, which were zero. `order`: samples in the order of the epoch. Every sample weighs
  /// the same, also in a smaller last batch.
  UpdateLoss compute(std::span<const std::uint32_t> order, std::int64_t epoch, std::int64_t update);

  /// Sets the gradients to zero, in place.
  void zero() { reducer_.zero_gradients(); }

 private:
  double pass(std::span<const std::uint32_t> samples,
              std::int64_t epoch,
              double weight,
              bool reduce);

  Network& network_;
  const BatchPlan& batches_;
  PassSettings settings_;
  Communicator& communicator_;
  MarkWriter& marks_;
  PhaseRegions regions_;
  const Device& device_;
  BatchTensors inputs_;
  GradientReducer reducer_;
  std::vector<std::uint32_t> samples_;  // of the micro-batch at hand
};

}  // namespace joulescale
