// SPDX-License-Identifier: Apache-2.0
// All channels of a node: fed with readings, live or out of a journal, it gives the energy of each
// overlap group, the state of each source, and the metrics. Metrics have accounts apart from those
// of energy, so that nothing can be added across.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "joulescale/monitor/account_state.h"
#include "joulescale/monitor/counter_account.h"
#include "joulescale/monitor/energy_curve.h"
#include "joulescale/monitor/node_metrics.h"
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
  std::vector<MetricRecord> metrics;  // without their node
  std::optional<Watts> mean_power;    // measured and integrated
  std::vector<CountedChannel> counted;
  /// What happens within such a time cannot be told apart in the measured energy.
  Nanoseconds resolution{0};
  /// The same for the times whose readings were dropped; at least `resolution`.
  Nanoseconds coarsest_resolution{0};
  std::vector<std::string> still;  // channels that should count and gave no energy
  std::vector<std::string> flags;
};

/// Not thread safe.
class NodeMeter {
 public:
  /// What is kept of each channel's energy curve: all that was not forgotten, or only what totals
  /// need, so that memory does not grow with the run.
  enum class Keep { kCurves, kTotals };
  explicit NodeMeter(Keep keep = Keep::kCurves) : keep_(keep), metrics_(keep == Keep::kTotals) {}

  /// Declares the channels of one sensor; `sample_period` is how often it is read. A channel that
  /// was declared before (by another process, which read it until then) goes on with its account.
  /// Returns the sensor's number.
  std::size_t add_sensor(std::span<const Channel> channels, Nanoseconds sample_period);
  /// Readings of one sensor, one a channel. More or fewer than declared are ignored.
  void add(std::size_t sensor, std::span<const RawReading> readings);
  /// Readings that were due and not made.
  void add_missed(std::size_t sensor, std::uint64_t count);
  /// Where the accounts of a sensor's channels stand.
  std::vector<ChannelState> states(std::size_t sensor) const;
  /// Stands for readings of a sensor that were dropped: those between two of its states, in an
  /// account that knew only them. Ignored if the states are not of this sensor's channels.
  void skip(std::size_t sensor,
            std::span<const ChannelState> from,
            std::span<const ChannelState> to);
  /// With kTotals: the begin that finish() will be given, told before or at most seconds after it.
  /// Told again, the later one counts.
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
    Nanoseconds last_value{0};
    Nanoseconds longest_gap{0};  // without a value
    Nanoseconds longest_skip{0};
    std::uint64_t missed_ticks = 0;
    Nanoseconds last_point{0};  // of the curve, before the account was closed
    std::optional<WindowEnergy> window;

    const EnergyCurve& curve() const;
    EnergyCurve& curve();
    const ChannelEvents& events() const;
    Nanoseconds time_scale() const;
  };
  using Chosen = std::vector<const Meter*>;
  /// Where the readings of a channel go.
  struct Place {
    bool is_metric = false;
    std::size_t index = 0;  // in metrics_ or meters_
  };

  std::vector<const Meter*> all_meters() const;
  static bool saw_all(const Meter& meter);
  static bool stopped_early(const Meter& meter, Nanoseconds duration);
  static bool is_silent(const Meter& counter);
  static Joules end_doubt(const Meter& counter, const Meter& power, Nanoseconds begin);
  static bool is_surer(const Meter& power, const Meter& counter);
  static bool rested_long(const Meter& meter);
  static bool is_dead(const Chosen& group);
  static void keep_one_source(Chosen& silicon);
  void add_group(const Chosen& group,
                 Nanoseconds begin,
                 Nanoseconds end,
                 NodeEnergy& result,
                 Chosen& counted) const;
  void add_sources(NodeEnergy& result) const;
  void add_flags(NodeEnergy& result) const;
  static void add_counted(const Chosen& counted, Seconds duration, NodeEnergy& result);
  std::size_t meter_for(const Channel& channel, Nanoseconds sample_period);
  void add_to_meter(Meter& meter, const RawReading& reading);
  ChannelState state_of(Place place) const;

  Keep keep_;
  std::optional<Nanoseconds> begin_;
  std::vector<Meter> meters_;
  NodeMetrics metrics_;
  std::vector<std::vector<Place>> sensors_;  // of each sensor's channels
};

}  // namespace joulescale
