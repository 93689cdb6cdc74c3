// SPDX-License-Identifier: Apache-2.0
// Power over time with its integral in closed form: what the fakes show and what tests expect.
#pragma once

#include <vector>

namespace fake_nvml {

struct CurvePoint {
  double time_s = 0.0;
  double power_w = 0.0;
};

/// kLines: straight between points, constant outside; two points of one time are a step.
/// kSine: `mean + amplitude x sin`. kSquare: `high` for the first `duty` share of each period, else
/// `low`. The periodic ones begin at `offset_s` into their period.
struct PowerShape {
  enum class Kind { kLines, kSine, kSquare };
  Kind kind = Kind::kLines;
  std::vector<CurvePoint> points;
  double low_w = 0.0;   // kSine: mean
  double high_w = 0.0;  // kSine: amplitude
  double period_s = 1.0;
  double duty = 0.5;
  double offset_s = 0.0;

  double power_at(double time_s) const;
  /// Joules from time 0.
  double energy_at(double time_s) const;
};

}  // namespace fake_nvml
