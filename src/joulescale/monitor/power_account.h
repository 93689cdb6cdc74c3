// SPDX-License-Identifier: Apache-2.0
// Energy out of power samples: the trapezoid rule over the real time between readings.
#pragma once

#include <algorithm>
#include <optional>

#include "joulescale/monitor/account_state.h"
#include "joulescale/monitor/counter_account.h"
#include "joulescale/monitor/energy_curve.h"
#include "joulescale/sensors/sensor.h"

namespace joulescale {

/// Feed it every reading of one kPower channel, in time order.
class PowerAccount {
 public:
  PowerAccount(const Channel& channel, Nanoseconds sample_period);

  void add(const RawReading& reading);
  PowerState state() const { return state_; }
  /// Stands for the readings between two states of an account of this channel, which this account
  /// was not given: it goes on where `to` stands.
  void skip(const PowerState& from, const PowerState& to);
  void close(Nanoseconds end);
  /// After close(). Nothing with fewer than two samples.
  std::optional<WindowEnergy> window(Nanoseconds begin, Nanoseconds end) const;

  const EnergyCurve& curve() const { return curve_; }
  EnergyCurve& curve() { return curve_; }
  const ChannelEvents& events() const { return state_.events; }
  /// What happens within such a time the samples cannot tell apart.
  Nanoseconds time_scale() const {
    return std::max({sample_period_, refresh_period(), averaging_});
  }
  /// The latest sample, if it is later than `time`.
  std::optional<Watts> power_after(Nanoseconds time) const;

 private:
  Joules stale_uncertainty(Nanoseconds length) const;
  Joules averaging_uncertainty(Nanoseconds length) const;
  void note_change(const PowerSample& sample, Seconds length);
  Nanoseconds refresh_period() const;

  double watts_per_raw_;
  Watts plausible_power_;
  Nanoseconds averaging_;
  Nanoseconds sample_period_;
  PowerState state_;
  EnergyCurve curve_;
};

}  // namespace joulescale
