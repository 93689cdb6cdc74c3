// SPDX-License-Identifier: Apache-2.0
// Which samples a run uses, in which order, and which rank takes which. Everything follows from
// numbers that all ranks share, so that no rank can have another number of steps than the rest.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "joulescale/base/error.h"

namespace joulescale {

/// What becomes of the samples that do not fill the last global batch of an epoch.
enum class LastBatch {
  kDrop,  // not used in this epoch
  kKeep,  // a smaller update; its gradient is the mean over the samples it has
};

struct BatchPlanOptions {
  std::int64_t num_samples = 0;  // samples of an epoch
  int world_size = 1;
  std::int64_t local_batch_size = 1;
  int accumulation_steps = 1;
  LastBatch last_batch = LastBatch::kDrop;
};

/// How an epoch's order is cut into updates, micro-steps and ranks. Update u takes the positions
/// [u * GBS, (u + 1) * GBS); of these, rank r takes every world_size-th from the r-th on, in
/// micro-steps of local_batch_size. So one rank with batch W * b sees the same samples in an
/// update as W ranks with batch b.
class BatchPlan {
 public:
  /// Every number at least 1. Error (kInvalidArgument): an epoch would have no update.
  static Result<BatchPlan> create(const BatchPlanOptions& options);

  std::int64_t local_batch_size() const { return options_.local_batch_size; }
  std::int64_t global_batch_size() const { return global_batch_size_; }
  std::int64_t updates_per_epoch() const { return updates_per_epoch_; }
  /// Samples that an epoch uses.
  std::int64_t samples_per_epoch() const;
  /// Samples of one update over all ranks.
  std::int64_t update_samples(std::int64_t update) const;
  /// Micro-steps of one update; the same on every rank.
  int micro_steps(std::int64_t update) const;
  /// Positions in the epoch's order that a rank takes in a micro-step, in ascending order. Empty
  /// only in a kept last batch with fewer samples than ranks can share. Replaces `positions`.
  void micro_batch(std::int64_t update,
                   int micro_step,
                   int rank,
                   std::vector<std::uint32_t>& positions) const;

 private:
  explicit BatchPlan(const BatchPlanOptions& options);

  BatchPlanOptions options_;
  std::int64_t global_batch_size_ = 0;
  std::int64_t updates_per_epoch_ = 0;
};

/// The items of `samples` in the order of an epoch: a permutation by (seed, epoch) alone.
std::vector<std::uint32_t> epoch_order(std::span<const std::uint32_t> samples,
                                       std::uint64_t seed,
                                       std::int64_t epoch);

/// `num_samples` sample numbers, ascending, drawn without replacement so that each class has its
/// share of the whole, rounded by largest remainder (ties: the lower class). The choice within a
/// class is by `seed`. num_samples <= labels.size().
std::vector<std::uint32_t> stratified_subset(std::span<const std::uint8_t> labels,
                                             std::size_t num_samples,
                                             std::uint64_t seed);

}  // namespace joulescale
