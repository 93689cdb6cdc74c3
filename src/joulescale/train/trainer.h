// SPDX-License-Identifier: Apache-2.0
// One rank of a data-parallel training run. Free of torch.
//
// Regions written to the marks: data, forward, backward (with the all-reduce), optimizer,
// evaluation. Counters: samples (of this rank) and updates (each rank adds 1 an optimizer step).
#pragma once

#include <vector>

#include "joulescale/base/error.h"
#include "joulescale/monitor/marks/mark_writer.h"
#include "joulescale/parallel/rendezvous.h"
#include "joulescale/record/run_record.h"
#include "joulescale/train/loss_curve.h"
#include "joulescale/train/options.h"

namespace joulescale {

struct TrainResult {
  TrainingRecord record;  // the same on every rank
  std::vector<CurvePoint> curve;
};

/// Trains and evaluates. Same seed, ranks, threads and machine: the same numbers bit for bit.
/// Errors: kInvalidArgument for wrong input (data included), kCancelled after a signal
/// (train/interrupt.h), else one line with the first cause over all ranks.
Result<TrainResult> run_training(const TrainOptions& options,
                                 const RankEnvironment& ranks,
                                 MarkWriter& marks);

}  // namespace joulescale
