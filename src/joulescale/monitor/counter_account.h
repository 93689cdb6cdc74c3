// SPDX-License-Identifier: Apache-2.0
// Energy out of an energy counter: differences of raw readings, with wraps, resets, glitches and
// gaps told apart. The method and its uncertainty: docs/measurement-method.md.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "joulescale/monitor/energy_curve.h"
#include "joulescale/sensors/sensor.h"

namespace joulescale {

/// What befell a channel while it was read.
struct ChannelEvents {
  std::uint64_t samples = 0;  // readings with a value
  std::uint64_t missed = 0;   // readings without one, and values that were not believed
  std::uint64_t wraps = 0;
  std::uint64_t resets = 0;
  std::uint64_t ambiguous = 0;  // gaps in which the number of wraps is a guess
  std::uint64_t gaps = 0;       // power only: stretches too long to integrate with confidence
  bool gone = false;            // the device was lost
};

/// Energy of a channel between two times.
struct WindowEnergy {
  Joules energy;
  Joules uncertainty;     // half-width of the 95 % interval of the reading
  Nanoseconds unseen{0};  // from the window's begin to the first reading, if that came later
};

/// Feed it every reading of one kEnergy channel, in time order.
class CounterAccount {
 public:
  /// `sample_period`: how often the channel is read; bounds the update period where the sensor
  /// does not know it.
  CounterAccount(const Channel& channel, Nanoseconds sample_period);

  /// The first value gives no energy; a reading without a value is a missing value, never 0.
  void add(const RawReading& reading);

  /// Ends the account: after it the curve reaches `end` where the counter's last move allows that.
  void close(Nanoseconds end);
  /// After close(). Nothing if the counter did not move enough to tell the power.
  std::optional<WindowEnergy> window(Nanoseconds begin, Nanoseconds end) const;

  const EnergyCurve& curve() const { return curve_; }
  EnergyCurve& curve() { return curve_; }
  const ChannelEvents& events() const { return events_; }
  /// The time in which the counter moves once, as the sensor or the readings show it.
  std::optional<Nanoseconds> update_period() const;
  /// The longest that the counter is known to rest between two moves.
  Nanoseconds resolution() const;
  /// What happens within such a time the curve cannot tell apart.
  Nanoseconds time_scale() const { return std::max(resolution(), sample_period_); }

 private:
  struct Value {
    std::uint64_t raw = 0;
    Nanoseconds before{0};  // of the latest reading that gave it
    Nanoseconds after{0};   // of the first reading that gave it
  };

  void take_base(const Value& value);
  bool advance(const Value& value);
  void reset_to(const Value& value);
  std::uint64_t extra_wraps(std::uint64_t delta, Seconds elapsed);
  Nanoseconds lag(Nanoseconds since_seen) const;
  Joules joules(std::uint64_t raw) const;

  double joules_per_raw_;
  std::optional<std::uint64_t> range_;
  std::optional<Nanoseconds> known_period_;
  Watts plausible_power_;
  Nanoseconds sample_period_;

  std::optional<Value> last_;     // the value on which differences build
  std::optional<Value> suspect_;  // a value that cannot follow it; the next one decides
  Nanoseconds change_seen_{0};    // just before the reading that showed the last move
  Nanoseconds last_lag_{0};       // half the time in which the last move may have been
  Nanoseconds first_change_{0};
  Nanoseconds last_change_{0};
  Nanoseconds longest_rest_{0};  // seen without a move
  std::uint64_t changes_ = 0;
  std::uint64_t unchanged_ = 0;  // readings that showed no move
  Joules energy_;
  Joules extra_uncertainty_;  // ambiguous wraps, intervals lost to resets
  Nanoseconds extrapolated_{0};
  Nanoseconds not_covered_{0};  // at the end: beyond what the last move allows
  EnergyCurve curve_;
  ChannelEvents events_;
};

}  // namespace joulescale
