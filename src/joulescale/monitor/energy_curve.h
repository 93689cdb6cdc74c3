// SPDX-License-Identifier: Apache-2.0
// Cumulative energy over time: known at points, straight between them.
#pragma once

#include <cstddef>
#include <optional>
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

  /// Adds a point at the end; a time before the last one counts as the last one. Beyond 2^14 points
  /// every second inner one is dropped, so memory is bounded for runs of any length.
  void append(Nanoseconds time, Joules energy);

  /// Corrects the time of the first point, once it is known better; the second one bounds it.
  void move_front(Nanoseconds time);

  /// Drops the points that no time from `time` on needs.
  void forget_before(Nanoseconds time);
  /// From now on only the last few hundred points are kept, and some at the time that keep_begin()
  /// names: enough for totals from there to an end that is not long past.
  void keep_ends_only() { ends_only_ = true; }
  /// A later begin takes the place of an earlier one, whose points are dropped in time.
  void keep_begin(Nanoseconds begin) {
    begin_ = begin;
    head_ = 0;
  }

  bool empty() const { return points_.empty(); }
  std::size_t size() const { return points_.size(); }
  const Point& front() const { return points_.front(); }
  const Point& back() const { return points_.back(); }
  std::span<const Point> points() const { return points_; }

  /// Interpolated; constant before the first and after the last point. 0 for an empty curve.
  Joules at(Nanoseconds time) const;
  /// Index of the first point later than `time`; size() if there is none.
  std::size_t first_after(Nanoseconds time) const;
  /// The length of the segment that holds `time`; 0 outside.
  Nanoseconds spacing(Nanoseconds time) const;
  /// Mean power of the segment that ends at point `index`; 0 for a segment without length.
  Watts segment_power(std::size_t index) const;
  /// Mean power over the first second (at least two points are needed, else 0).
  Watts early_power() const;
  /// Mean power over the last few points (at least two are needed, else 0).
  Watts recent_power() const;
  /// The most by which the power between two of these differs from that.
  Watts recent_spread() const;
  /// The longest time between two of these.
  Nanoseconds recent_spacing() const;
  /// Mean power from the first to the last point (at least two are needed, else 0).
  Watts mean_power() const;

 private:
  void thin();

  std::vector<Point> points_;
  bool ends_only_ = false;
  std::optional<Nanoseconds> begin_;
  std::size_t head_ = 0;  // points at the front that are kept
};

}  // namespace joulescale
