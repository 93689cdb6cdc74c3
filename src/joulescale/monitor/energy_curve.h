// SPDX-License-Identifier: Apache-2.0
// Cumulative energy over time: known at points, straight between them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "joulescale/base/clock.h"
#include "joulescale/base/units.h"

namespace joulescale {

class EnergyCurve {
 public:
  struct Point {
    Nanoseconds time{0};
    Joules energy;
  };

  /// Adds a point at the end; a time before the last one counts as the last one. Beyond 2^20 points
  /// every second inner one is dropped, so memory is bounded for runs of any length.
  void append(Nanoseconds time, Joules energy);

  bool empty() const { return points_.empty(); }
  std::size_t size() const { return points_.size(); }
  const Point& front() const { return points_.front(); }
  const Point& back() const { return points_.back(); }
  std::span<const Point> points() const { return points_; }

  /// Interpolated; constant before the first and after the last point. 0 for an empty curve.
  Joules at(Nanoseconds time) const;
  /// Index of the first point later than `time`; size() if there is none.
  std::size_t first_after(Nanoseconds time) const;
  /// Mean power of the segment that ends at point `index`; 0 for a segment without length.
  Watts segment_power(std::size_t index) const;
  /// Mean power over the last few points (at least two are needed, else 0).
  Watts recent_power() const;

  /// Evaluates at times that mostly grow, in constant time each.
  class Cursor {
   public:
    explicit Cursor(const EnergyCurve& curve) : curve_(&curve) {}
    Joules at(Nanoseconds time);

   private:
    const EnergyCurve* curve_;
    std::size_t next_ = 0;
  };

 private:
  std::vector<Point> points_;
};

/// The sum of curves between two times, with points wherever one of them has a point. It starts at
/// 0 J.
EnergyCurve sum_curves(std::span<const EnergyCurve* const> curves,
                       Nanoseconds begin,
                       Nanoseconds end);

/// The highest mean power over any stretch of at least `window`; the overall mean for a curve that
/// is shorter.
Watts peak_power(const EnergyCurve& curve, Nanoseconds window);

}  // namespace joulescale
