// SPDX-License-Identifier: Apache-2.0
// A node's journals read again: all readings of its ranks' monitors in the order of time, in
// constant memory.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "joulescale/base/error.h"
#include "joulescale/monitor/energy_timeline.h"
#include "joulescale/monitor/launch.h"
#include "joulescale/monitor/node_meter.h"

namespace joulescale {

/// Not thread safe.
class NodeReplay {
 public:
  /// With `until`: only readings that were made before it.
  static Result<NodeReplay> open(const NodeDirectory& node, Nanoseconds until = Nanoseconds::max());
  NodeReplay(NodeReplay&&) noexcept;
  NodeReplay& operator=(NodeReplay&&) noexcept;
  ~NodeReplay();

  /// Gives the next block of readings to the meter, the same one each time. False at the end.
  /// Errors: a journal cannot be read.
  Result<bool> feed(NodeMeter& meter);

 private:
  class Journal;
  NodeReplay();

  std::vector<std::unique_ptr<Journal>> journals_;
  Nanoseconds until_{0};
};

/// The timeline of the channels that count, out of the journals.
class NodeTimeline final : public EnergyTimeline {
 public:
  /// `energy`: what a meter found in the same readings between `begin` and `end`.
  static Result<NodeTimeline> open(const NodeDirectory& node,
                                   const NodeEnergy& energy,
                                   Nanoseconds begin,
                                   Nanoseconds end);

  NodeJoules at(Nanoseconds time) override;
  bool has_measured() const override { return has_measured_; }
  bool has_estimated() const override { return has_estimated_; }
  /// Coarser where readings were dropped.
  Nanoseconds resolution() const override;
  bool failed() const override { return failed_; }

 private:
  NodeTimeline(NodeReplay replay, const NodeEnergy& energy, Nanoseconds begin, Nanoseconds end);
  /// Looks up the accounts of channels that were not declared until now.
  void find_accounts();
  bool is_reached(Nanoseconds time) const;
  NodeJoules sum_at(Nanoseconds time) const;

  NodeReplay replay_;
  NodeMeter meter_;
  std::vector<CountedChannel> channels_;
  std::vector<std::optional<std::size_t>> accounts_;  // of the channels, in the meter
  bool has_measured_;
  bool has_estimated_;
  Nanoseconds resolution_;
  Nanoseconds end_;
  Nanoseconds now_;
  NodeJoules at_begin_;
  bool replayed_ = false;
  bool failed_ = false;
};

}  // namespace joulescale
