// SPDX-License-Identifier: Apache-2.0
// All channels of a node: fed with readings, live or out of a journal, it gives the energy of each
// overlap group and the state of each source.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "joulescale/monitor/counter_account.h"
#include "joulescale/monitor/energy_curve.h"
#include "joulescale/monitor/node_report.h"
#include "joulescale/monitor/power_account.h"
#include "joulescale/sensors/sensor.h"

namespace joulescale {

/// A channel whose energy is part of the node's.
struct CountedChannel {
  std::string name;
  Quantity quantity = Quantity::kEnergy;
  bool estimated = false;
  Nanoseconds first_point{0};  // of its energy curve
  Nanoseconds last_point{0};
};

struct NodeEnergy {
  std::vector<GroupEnergy> groups;
  std::vector<SourceRecord> sources;
  std::optional<Watts> mean_power;  // measured and integrated
  std::vector<CountedChannel> counted;
  /// What happens within such a time cannot be told apart in the measured energy.
  Nanoseconds resolution{0};
  std::vector<std::string> flags;
};

/// Not thread safe.
class NodeMeter {
 public:
  /// What is kept of each channel's energy curve: all that was not forgotten, or only what totals
  /// need, so that memory does not grow with the run.
  enum class Keep { kCurves, kTotals };
  explicit NodeMeter(Keep keep = Keep::kCurves) : keep_(keep) {}

  /// Declares the channels of one sensor; `sample_period` is how often it is read. A channel that
  /// was declared before (by another process, which read it until then) goes on with its account.
  /// Returns the sensor's number.
  std::size_t add_sensor(std::span<const Channel> channels, Nanoseconds sample_period);
  /// Readings of one sensor, one a channel. More or fewer than declared are ignored.
  void add(std::size_t sensor, std::span<const RawReading> readings);
  /// Readings that were due and not made.
  void add_missed(std::size_t sensor, std::uint64_t count);
  /// With kTotals: the begin that finish() will be given, told before or at most seconds after it.
  void keep_begin(Nanoseconds begin);

  /// Ends the accounts; the energy between the two times. Call it once, last.
  NodeEnergy finish(Nanoseconds begin, Nanoseconds end);

  // Instead of finish(), for looking at the curves on the way:
  /// The number of a channel's account; nothing for one that was not declared.
  std::optional<std::size_t> find(const CountedChannel& channel) const;
  const EnergyCurve& curve(std::size_t account) const { return meters_[account].curve(); }
  void forget_before(Nanoseconds time);
  /// Ends the accounts.
  void close(Nanoseconds end);

 private:
  struct Meter {
    Channel channel;
    std::variant<CounterAccount, PowerAccount> account;
    Nanoseconds sample_period{0};
    Nanoseconds last_read{0};
    Nanoseconds longest_gap{0};
    std::uint64_t missed_ticks = 0;
    Nanoseconds last_point{0};  // of the curve, before the account was closed
    std::optional<WindowEnergy> window;

    const EnergyCurve& curve() const;
    EnergyCurve& curve();
    const ChannelEvents& events() const;
    Nanoseconds time_scale() const;
  };
  using Chosen = std::vector<const Meter*>;

  std::vector<const Meter*> all_meters() const;
  void add_group(const Chosen& group, NodeEnergy& result, Chosen& counted) const;
  void add_sources(NodeEnergy& result) const;
  void add_flags(NodeEnergy& result) const;
  static void add_counted(const Chosen& counted, Seconds duration, NodeEnergy& result);
  std::size_t meter_for(const Channel& channel, Nanoseconds sample_period);

  Keep keep_;
  std::optional<Nanoseconds> begin_;
  std::vector<Meter> meters_;
  std::vector<std::vector<std::size_t>> sensors_;  // the meters of each sensor's channels
};

}  // namespace joulescale
