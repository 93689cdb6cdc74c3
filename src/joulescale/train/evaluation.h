// SPDX-License-Identifier: Apache-2.0
// Counts of right answers on a data set. Includes torch: for .cpp files of this room only.
#pragma once

#include <cstdint>

#include "joulescale/data/image_batch.h"
#include "joulescale/models/network.h"
#include "joulescale/parallel/communicator.h"

namespace joulescale {

struct EvaluationCounts {
  double samples = 0.0;
  double top1_correct = 0.0;
  double top5_correct = 0.0;
};

/// Every sample exactly once, whatever the number of ranks: each rank takes every world_size-th and
/// the counts are summed. The network is put into evaluation mode, and rank 0's BatchNorm
/// statistics are given to all ranks first. An output that is not finite counts as wrong.
EvaluationCounts evaluate(Network& network,
                          const ImageDataset& dataset,
                          const Normalization& normalization,
                          torch::Device device,
                          Communicator& communicator);

}  // namespace joulescale
