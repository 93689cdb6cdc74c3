// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/nvml/power_shape.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace fake_nvml {
namespace {

double line_power(const std::vector<CurvePoint>& points, double time_s) {
  if (points.empty()) {
    return 0.0;
  }
  if (time_s < points.front().time_s) {
    return points.front().power_w;
  }
  for (std::size_t i = 1; i < points.size(); ++i) {
    const CurvePoint& a = points[i - 1];
    const CurvePoint& b = points[i];
    if (time_s < b.time_s) {
      return a.power_w + (b.power_w - a.power_w) * (time_s - a.time_s) / (b.time_s - a.time_s);
    }
  }
  return points.back().power_w;
}

/// Joules between two times within which the power is one straight line.
double line_piece(const CurvePoint& a, const CurvePoint& b, double from_s, double to_s) {
  if (to_s <= from_s) {
    return 0.0;
  }
  const double slope = b.time_s > a.time_s ? (b.power_w - a.power_w) / (b.time_s - a.time_s) : 0.0;
  const double middle_w = a.power_w + slope * ((from_s + to_s) / 2.0 - a.time_s);
  return middle_w * (to_s - from_s);
}

double line_energy(const std::vector<CurvePoint>& points, double time_s) {
  if (points.empty()) {
    return 0.0;
  }
  const CurvePoint& first = points.front();
  const CurvePoint& last = points.back();
  double energy_j = first.power_w * std::clamp(first.time_s, 0.0, time_s);
  for (std::size_t i = 1; i < points.size(); ++i) {
    const double from_s = std::max(points[i - 1].time_s, 0.0);
    energy_j += line_piece(points[i - 1], points[i], from_s, std::min(points[i].time_s, time_s));
  }
  return energy_j + last.power_w * std::max(time_s - std::max(last.time_s, 0.0), 0.0);
}

/// From the begin of a period.
double square_energy(const PowerShape& shape, double time_s) {
  const double high_s = shape.duty * shape.period_s;
  const double rounds = std::floor(time_s / shape.period_s);
  const double rest_s = time_s - rounds * shape.period_s;
  const double round_j = shape.high_w * high_s + shape.low_w * (shape.period_s - high_s);
  return rounds * round_j + shape.high_w * std::min(rest_s, high_s) +
         shape.low_w * std::max(0.0, rest_s - high_s);
}

double sine_energy(const PowerShape& shape, double time_s) {
  const double omega = 2.0 * std::numbers::pi / shape.period_s;
  return shape.low_w * time_s - shape.high_w / omega * std::cos(omega * time_s);
}

}  // namespace

double PowerShape::power_at(double time_s) const {
  const double shifted_s = time_s + offset_s;
  switch (kind) {
    case Kind::kLines:
      return line_power(points, time_s);
    case Kind::kSine:
      return low_w + high_w * std::sin(2.0 * std::numbers::pi * shifted_s / period_s);
    case Kind::kSquare: {
      const double rest_s = shifted_s - std::floor(shifted_s / period_s) * period_s;
      return rest_s < duty * period_s ? high_w : low_w;
    }
  }
  return 0.0;
}

double PowerShape::energy_at(double time_s) const {
  const double shifted_s = time_s + offset_s;
  switch (kind) {
    case Kind::kLines:
      return line_energy(points, time_s);
    case Kind::kSine:
      return sine_energy(*this, shifted_s) - sine_energy(*this, offset_s);
    case Kind::kSquare:
      return square_energy(*this, shifted_s) - square_energy(*this, offset_s);
  }
  return 0.0;
}

}  // namespace fake_nvml
