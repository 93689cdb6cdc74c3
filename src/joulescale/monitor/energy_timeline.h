// SPDX-License-Identifier: Apache-2.0
// A node's cumulative energy, asked for at times that grow.
#pragma once

#include <algorithm>
#include <optional>

#include "joulescale/base/clock.h"
#include "joulescale/base/units.h"

namespace joulescale {

struct NodeJoules {
  Joules measured;  // and integrated
  Joules estimated;
};

/// Not thread safe.
class EnergyTimeline {
 public:
  virtual ~EnergyTimeline() = default;

  /// Energy since the begin of the run. A time before that of an earlier call counts as that one's.
  virtual NodeJoules at(Nanoseconds time) = 0;
  virtual bool has_measured() const = 0;
  virtual bool has_estimated() const = 0;
  /// What happens within such a time cannot be told apart in `measured`, about the time that was
  /// asked for last.
  virtual Nanoseconds resolution() const = 0;
  /// Why what at() gave is of no use; the readings could not be read again.
  virtual bool failed() const { return false; }
};

/// The highest mean measured power over a window of a run, found on the way along its timeline: the
/// window moves by a quarter of its length. For a run shorter than the window, its mean.
class PeakPower final : public EnergyTimeline {
 public:
  PeakPower(EnergyTimeline& timeline, Nanoseconds begin, Nanoseconds end, Nanoseconds window);

  NodeJoules at(Nanoseconds time) override;
  bool has_measured() const override { return timeline_.has_measured(); }
  bool has_estimated() const override { return timeline_.has_estimated(); }
  Nanoseconds resolution() const override { return timeline_.resolution(); }
  bool failed() const override { return timeline_.failed(); }

  /// Goes on to the end.
  std::optional<Watts> finish();

 private:
  static constexpr std::size_t kSteps = 4;  // of a window
  void look_at(Nanoseconds time);

  EnergyTimeline& timeline_;
  Nanoseconds begin_;
  Nanoseconds end_;
  Nanoseconds step_;
  std::int64_t num_steps_ = 0;
  Joules recent_[kSteps];  // energy at the last steps
  Watts peak_;
};

}  // namespace joulescale
