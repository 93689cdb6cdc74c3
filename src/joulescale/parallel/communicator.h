// SPDX-License-Identifier: Apache-2.0
// The group of ranks and its collectives, over c10d (Gloo between CPUs, NCCL between GPUs). Torch
// stays out of this header.
//
// Every collective ends within the timeout. When one fails, explain_failure() finds out which rank
// failed first: ranks tell their own failures through the store, and each adds to a beat there
// twice a second, so that a rank that was killed shows as one whose beat stands still.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "joulescale/base/error.h"
#include "joulescale/parallel/device.h"
#include "joulescale/parallel/rendezvous.h"

namespace at {
class Tensor;
}

namespace joulescale {

struct CommunicatorOptions {
  std::chrono::seconds timeout{300};
  /// Rank 0: a socket that already listens at the master port, inherited from the launcher; so
  /// the port cannot be lost to another process in between.
  std::optional<int> store_listen_fd;
};

class Communicator {
 public:
  /// Waits for all ranks. One rank: no sockets, every collective is a no-op. Errors: a port that is
  /// taken, a rank that joins twice, ranks that do not come within the timeout.
  static Result<Communicator> create(const RankEnvironment& ranks,
                                     const Device& device,
                                     const CommunicatorOptions& options);

  Communicator(Communicator&&) noexcept;
  Communicator& operator=(Communicator&&) noexcept;
  ~Communicator();

  int rank() const;
  int world_size() const;

  // Collectives: every rank calls the same ones in the same order. They throw what c10d throws;
  // the caller hands the text to explain_failure().

  /// Sums over ranks, in place. Doubles: sums of counts are exact to 2^53.
  void all_reduce_sum(std::span<double> values);
  /// Rank 0's content replaces that of the other ranks.
  void broadcast_from_rank0(const std::vector<at::Tensor>& tensors);
  /// Error (kInvalidArgument) on every rank whose text differs from rank 0's.
  Result<void> check_same(std::string_view what, std::string_view text);
  void barrier();

  /// Tells the other ranks that this one ends and why. Rank 0, which holds the store, stays a
  /// second so that they see it.
  void report_failure(std::string_view message) noexcept;
  /// One line with the first cause, for a collective that failed with `message` on this rank.
  /// Takes a few seconds at most, so that every rank comes to the same answer.
  std::string explain_failure(std::string_view message) noexcept;

 private:
  friend class GradientReducer;
  struct Impl;
  explicit Communicator(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Data-parallel gradients: c10d's Reducer, which sums buckets of gradients over ranks while the
/// backward pass still computes the rest, and divides by the number of ranks. Gradients live in
/// the buckets: set them to zero in place, never detach them. One rank: plain gradients.
class GradientReducer {
 public:
  /// `parameters`: all trainable ones, in the same order on every rank.
  GradientReducer(Communicator& communicator, const std::vector<at::Tensor>& parameters);
  GradientReducer(GradientReducer&&) noexcept;
  GradientReducer& operator=(GradientReducer&&) noexcept;
  ~GradientReducer();

  /// Before the forward pass. `reduce`: the gradients of this pass complete a sum and are averaged
  /// over ranks in its backward pass; false in all but the last pass of an accumulation.
  void before_forward(bool reduce);
  /// Between forward and backward pass.
  void before_backward();
  /// Sets all gradients to zero, in place.
  void zero_gradients();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace joulescale
