// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/energy_curve.h"

#include <algorithm>

namespace joulescale {
namespace {

constexpr std::size_t kMostPoints = std::size_t{1} << 14;
constexpr std::size_t kRecentPoints = 5;
constexpr Nanoseconds kEarly = std::chrono::seconds(1);
constexpr std::size_t kHeadPoints = 8;
constexpr std::size_t kTailPoints = 400;
constexpr std::size_t kForgottenAtOnce = 64;

Joules interpolate(const EnergyCurve::Point& a, const EnergyCurve::Point& b, Nanoseconds time) {
  const double length = to_seconds(b.time - a.time).value();
  if (length <= 0.0) {
    return b.energy;
  }
  return a.energy + (b.energy - a.energy) * (to_seconds(time - a.time).value() / length);
}

Watts power_between(const EnergyCurve::Point& a, const EnergyCurve::Point& b) {
  const Seconds length = to_seconds(b.time - a.time);
  return length.value() > 0.0 ? (b.energy - a.energy) / length : Watts(0.0);
}

}  // namespace

void EnergyCurve::append(Nanoseconds time, Joules energy) {
  if (!points_.empty()) {
    time = std::max(time, points_.back().time);
  }
  if (ends_only_ && points_.size() >= head_ + 2 * kTailPoints) {
    thin();
  } else if (points_.size() >= kMostPoints) {
    for (std::size_t i = 1; 2 * i < points_.size(); ++i) {
      points_[i] = points_[2 * i];
    }
    points_.resize(points_.size() / 2);
  }
  points_.push_back({time, energy});
}

void EnergyCurve::move_front(Nanoseconds time) {
  points_.front().time = points_.size() > 1 ? std::min(time, points_[1].time) : time;
}

void EnergyCurve::forget_before(Nanoseconds time) {
  const std::size_t next = first_after(time);
  if (next > kForgottenAtOnce) {
    points_.erase(points_.begin(), points_.begin() + static_cast<std::ptrdiff_t>(next - 1));
  }
}

/// Drops what lies between the begin and the end.
void EnergyCurve::thin() {
  if (head_ == 0 && begin_ && points_.back().time >= *begin_) {
    const std::size_t first = std::max<std::size_t>(first_after(*begin_), 1) - 1;
    points_.erase(points_.begin(), points_.begin() + static_cast<std::ptrdiff_t>(first));
    head_ = kHeadPoints;
  }
  if (points_.size() > head_ + kTailPoints) {
    points_.erase(points_.begin() + static_cast<std::ptrdiff_t>(head_),
                  points_.end() - static_cast<std::ptrdiff_t>(kTailPoints));
  }
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

Nanoseconds EnergyCurve::spacing(Nanoseconds time) const {
  const std::size_t next = first_after(time);
  return next == 0 || next == points_.size() ? Nanoseconds(0)
                                             : points_[next].time - points_[next - 1].time;
}

Watts EnergyCurve::segment_power(std::size_t index) const {
  if (index == 0 || index >= points_.size()) {
    return {};
  }
  return power_between(points_[index - 1], points_[index]);
}

Watts EnergyCurve::early_power() const {
  if (points_.size() < 2) {
    return {};
  }
  const Nanoseconds until = std::min(points_.front().time + kEarly, points_.back().time);
  return power_between(points_.front(), {until, at(until)});
}

Watts EnergyCurve::recent_power() const {
  if (points_.size() < 2) {
    return {};
  }
  const std::size_t first = points_.size() - std::min(points_.size(), kRecentPoints);
  return power_between(points_[first], points_.back());
}

Watts EnergyCurve::recent_spread() const {
  const Watts mean = recent_power();
  Watts spread;
  for (std::size_t i = points_.size() - std::min(points_.size(), kRecentPoints) + 1;
       i < points_.size();
       ++i) {
    if (points_[i].time > points_[i - 1].time) {
      spread = std::max({spread, segment_power(i) - mean, mean - segment_power(i)});
    }
  }
  return spread;
}

Nanoseconds EnergyCurve::recent_spacing() const {
  Nanoseconds longest{0};
  for (std::size_t i = points_.size() - std::min(points_.size(), kRecentPoints);
       i + 1 < points_.size();
       ++i) {
    longest = std::max(longest, points_[i + 1].time - points_[i].time);
  }
  return longest;
}

Watts EnergyCurve::mean_power() const {
  return points_.size() < 2 ? Watts(0.0) : power_between(points_.front(), points_.back());
}

}  // namespace joulescale
