// SPDX-License-Identifier: Apache-2.0
// A clock that moves only when told to, or when somebody sleeps on it.
#pragma once

#include "joulescale/base/clock.h"

namespace joulescale::testing {

/// Not thread safe.
class FakeClock final : public Clock {
 public:
  Nanoseconds monotonic_now() const override { return monotonic_; }
  Nanoseconds wall_now() const override { return monotonic_ + wall_offset_; }
  void sleep_until(Nanoseconds monotonic_deadline) override {
    monotonic_ = std::max(monotonic_, monotonic_deadline);
  }
  void advance(Nanoseconds duration) { monotonic_ += duration; }
  void step_wall(Nanoseconds step) { wall_offset_ += step; }

 private:
  Nanoseconds monotonic_{std::chrono::seconds(1000)};
  Nanoseconds wall_offset_{std::chrono::seconds(1'700'000'000)};
};

}  // namespace joulescale::testing
