// SPDX-License-Identifier: Apache-2.0
// All channels of a node: fed with readings, live or out of a journal, it gives the energy of each
// overlap group, the state of each source and the node's cumulative energy.
#pragma once

#include <cstddef>
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

/// Cumulative energy of the counted groups from the begin of the run to its end, measured and
/// integrated apart from estimated. An empty curve: no such source.
struct NodeCurves {
  EnergyCurve measured;
  EnergyCurve estimated;
  /// What happens within such a time cannot be told apart in `measured`.
  Nanoseconds resolution{0};
};

struct NodeEnergy {
  std::vector<GroupEnergy> groups;
  std::vector<SourceRecord> sources;
  NodeCurves curves;
  PowerRecord power;
  std::vector<std::string> flags;
};

/// Not thread safe.
class NodeMeter {
 public:
  /// Declares the channels of one sensor; `sample_period` is how often it is read. Returns the
  /// sensor's number.
  std::size_t add_sensor(std::span<const Channel> channels, Nanoseconds sample_period);
  /// Readings of one sensor, one a channel. More or fewer than declared are ignored.
  void add(std::size_t sensor, std::span<const RawReading> readings);
  /// Readings that were due and not made.
  void add_missed(std::size_t sensor, std::uint64_t count);
  /// Ends the accounts; the energy between the two times. Call it once, last.
  NodeEnergy finish(Nanoseconds begin, Nanoseconds end);

 private:
  struct Meter {
    Channel channel;
    std::variant<CounterAccount, PowerAccount> account;
    std::uint64_t missed_ticks = 0;
    std::optional<WindowEnergy> window;

    const EnergyCurve& curve() const;
    const ChannelEvents& events() const;
    Nanoseconds time_scale() const;
  };
  struct SensorMeters {
    std::vector<Meter> meters;
    Nanoseconds sample_period{0};
    Nanoseconds last_read{0};
    Nanoseconds longest_gap{0};
  };
  using Chosen = std::vector<const Meter*>;

  void close_accounts(Nanoseconds begin, Nanoseconds end);
  std::vector<const Meter*> all_meters() const;
  void add_group(const Chosen& group, NodeEnergy& result, Chosen& counted) const;
  void add_sources(NodeEnergy& result) const;
  void add_flags(NodeEnergy& result) const;
  static void add_curves(const Chosen& counted,
                         Nanoseconds begin,
                         Nanoseconds end,
                         NodeEnergy& result);

  std::vector<SensorMeters> sensors_;
};

}  // namespace joulescale
