// SPDX-License-Identifier: Apache-2.0
#include "joulescale/base/clock.h"

#include <cerrno>
#include <ctime>

#include <fmt/format.h>

namespace joulescale {
namespace {

constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

Nanoseconds read_clock(clockid_t id) {
  timespec now{};
  clock_gettime(id, &now);
  return Nanoseconds(now.tv_sec * kNanosecondsPerSecond + now.tv_nsec);
}

/// "2026-12-01T08:15:30"
std::string utc_seconds(Nanoseconds wall_time) {
  const std::time_t seconds = wall_time.count() / kNanosecondsPerSecond;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
                     utc.tm_year + 1900,
                     utc.tm_mon + 1,
                     utc.tm_mday,
                     utc.tm_hour,
                     utc.tm_min,
                     utc.tm_sec);
}

class SystemClock final : public Clock {
 public:
  Nanoseconds monotonic_now() const override { return read_clock(CLOCK_MONOTONIC); }
  Nanoseconds wall_now() const override { return read_clock(CLOCK_REALTIME); }
  void sleep_until(Nanoseconds monotonic_deadline) override {
    timespec deadline{};
    deadline.tv_sec = monotonic_deadline.count() / kNanosecondsPerSecond;
    deadline.tv_nsec = monotonic_deadline.count() % kNanosecondsPerSecond;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, nullptr) == EINTR) {
    }
  }
};

}  // namespace

Clock& system_clock() {
  static SystemClock clock;
  return clock;
}

std::string format_rfc3339(Nanoseconds wall_time) {
  return fmt::format(
      "{}.{:03}Z", utc_seconds(wall_time), wall_time.count() % kNanosecondsPerSecond / 1'000'000);
}

std::string format_rfc3339_us(Nanoseconds wall_time) {
  return fmt::format(
      "{}.{:06}Z", utc_seconds(wall_time), wall_time.count() % kNanosecondsPerSecond / 1'000);
}

}  // namespace joulescale
