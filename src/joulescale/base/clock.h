// SPDX-License-Identifier: Apache-2.0
// Time as a parameter: durations come from the monotonic clock only, wall-clock time is a label.
#pragma once

#include <chrono>
#include <string>

#include "joulescale/base/units.h"

namespace joulescale {

using Nanoseconds = std::chrono::nanoseconds;

constexpr Seconds to_seconds(Nanoseconds duration) {
  return Seconds(static_cast<double>(duration.count()) * 1e-9);
}

/// Thread safe. Times are nanoseconds since the clock's own epoch: CLOCK_MONOTONIC for
/// monotonic_now(), CLOCK_REALTIME for wall_now().
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Nanoseconds monotonic_now() const = 0;
  virtual Nanoseconds wall_now() const = 0;
  /// Returns at or after the given monotonic time.
  virtual void sleep_until(Nanoseconds monotonic_deadline) = 0;
};

/// The machine's own clocks.
Clock& system_clock();

/// "2026-12-01T08:15:30.123Z" (RFC 3339, UTC, milliseconds) of a wall-clock time.
std::string format_rfc3339(Nanoseconds wall_time);
/// The same to the microsecond.
std::string format_rfc3339_us(Nanoseconds wall_time);

}  // namespace joulescale
