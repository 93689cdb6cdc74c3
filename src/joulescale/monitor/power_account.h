// SPDX-License-Identifier: Apache-2.0
// Energy out of power samples: the trapezoid rule over the real time between readings.
#pragma once

#include <optional>

#include "joulescale/monitor/counter_account.h"
#include "joulescale/monitor/energy_curve.h"
#include "joulescale/sensors/sensor.h"

namespace joulescale {

/// Feed it every reading of one kPower channel, in time order.
class PowerAccount {
 public:
  PowerAccount(const Channel& channel, Nanoseconds sample_period);

  void add(const RawReading& reading);
  void close(Nanoseconds end);
  /// After close(). Nothing with fewer than two samples.
  std::optional<WindowEnergy> window(Nanoseconds begin, Nanoseconds end) const;

  const EnergyCurve& curve() const { return curve_; }
  EnergyCurve& curve() { return curve_; }
  const ChannelEvents& events() const { return events_; }
  Nanoseconds time_scale() const { return sample_period_; }

 private:
  struct Sample {
    Nanoseconds time{0};
    Watts power;
  };

  double watts_per_raw_;
  Watts plausible_power_;
  Nanoseconds sample_period_;
  std::optional<Sample> last_;
  Watts highest_;
  Joules energy_;
  double interval_variance_j2_ = 0.0;
  Joules gap_uncertainty_;
  EnergyCurve curve_;
  ChannelEvents events_;
};

}  // namespace joulescale
