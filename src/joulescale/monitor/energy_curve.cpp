// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/energy_curve.h"

#include <algorithm>

namespace joulescale {
namespace {

constexpr std::size_t kMostPoints = std::size_t{1} << 20;
constexpr std::size_t kRecentPoints = 5;

Joules interpolate(const EnergyCurve::Point& a, const EnergyCurve::Point& b, Nanoseconds time) {
  const double length = to_seconds(b.time - a.time).value();
  if (length <= 0.0) {
    return b.energy;
  }
  return a.energy + (b.energy - a.energy) * (to_seconds(time - a.time).value() / length);
}

Watts mean_power(const EnergyCurve::Point& a, const EnergyCurve::Point& b) {
  const Seconds length = to_seconds(b.time - a.time);
  return length.value() > 0.0 ? (b.energy - a.energy) / length : Watts(0.0);
}

}  // namespace

void EnergyCurve::append(Nanoseconds time, Joules energy) {
  if (!points_.empty()) {
    time = std::max(time, points_.back().time);
  }
  if (points_.size() >= kMostPoints) {
    for (std::size_t i = 1; 2 * i < points_.size(); ++i) {
      points_[i] = points_[2 * i];
    }
    points_.resize(points_.size() / 2);
  }
  points_.push_back({time, energy});
}

std::size_t EnergyCurve::first_after(Nanoseconds time) const {
  const auto found = std::ranges::upper_bound(points_, time, {}, &Point::time);
  return static_cast<std::size_t>(found - points_.begin());
}

Joules EnergyCurve::at(Nanoseconds time) const {
  if (points_.empty()) {
    return {};
  }
  const std::size_t next = first_after(time);
  if (next == 0) {
    return points_.front().energy;
  }
  if (next == points_.size()) {
    return points_.back().energy;
  }
  return interpolate(points_[next - 1], points_[next], time);
}

Watts EnergyCurve::segment_power(std::size_t index) const {
  if (index == 0 || index >= points_.size()) {
    return {};
  }
  return mean_power(points_[index - 1], points_[index]);
}

Watts EnergyCurve::recent_power() const {
  if (points_.size() < 2) {
    return {};
  }
  const std::size_t first = points_.size() - std::min(points_.size(), kRecentPoints);
  return mean_power(points_[first], points_.back());
}

Joules EnergyCurve::Cursor::at(Nanoseconds time) {
  const auto points = curve_->points();
  if (points.empty()) {
    return {};
  }
  if (next_ > 0 && points[next_ - 1].time > time) {
    next_ = curve_->first_after(time);
  }
  while (next_ < points.size() && points[next_].time <= time) {
    ++next_;
  }
  if (next_ == 0) {
    return points.front().energy;
  }
  if (next_ == points.size()) {
    return points.back().energy;
  }
  return interpolate(points[next_ - 1], points[next_], time);
}

EnergyCurve sum_curves(std::span<const EnergyCurve* const> curves,
                       Nanoseconds begin,
                       Nanoseconds end) {
  std::vector<Nanoseconds> times = {begin, end};
  for (const EnergyCurve* curve : curves) {
    for (const EnergyCurve::Point& point : curve->points()) {
      if (point.time > begin && point.time < end) {
        times.push_back(point.time);
      }
    }
  }
  std::ranges::sort(times);
  times.erase(std::ranges::unique(times).begin(), times.end());
  std::vector<EnergyCurve::Cursor> cursors;
  Joules at_begin;
  for (const EnergyCurve* curve : curves) {
    cursors.emplace_back(*curve);
    at_begin += curve->at(begin);
  }
  EnergyCurve sum;
  for (const Nanoseconds time : times) {
    Joules energy = -at_begin;
    for (EnergyCurve::Cursor& cursor : cursors) {
      energy += cursor.at(time);
    }
    sum.append(time, energy);
  }
  return sum;
}

Watts peak_power(const EnergyCurve& curve, Nanoseconds window) {
  const auto points = curve.points();
  if (points.size() < 2) {
    return {};
  }
  if (points.back().time - points.front().time <= window) {
    return mean_power(points.front(), points.back());
  }
  Watts peak;
  std::size_t begin = 0;
  for (std::size_t end = 1; end < points.size(); ++end) {
    while (begin + 1 < end && points[end].time - points[begin + 1].time >= window) {
      ++begin;
    }
    if (points[end].time - points[begin].time >= window) {
      peak = std::max(peak, mean_power(points[begin], points[end]));
    }
  }
  return peak;
}

}  // namespace joulescale
