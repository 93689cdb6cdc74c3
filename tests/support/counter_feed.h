// SPDX-License-Identifier: Apache-2.0
// Channels and readings for tests of the accounts.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "joulescale/sensors/sensor.h"

namespace joulescale::testing {

/// How often the accounts under test are fed, unless the test says otherwise.
inline constexpr Nanoseconds kSamplePeriod = std::chrono::milliseconds(100);

/// Every `step_s` from `from_s` on, as far as below `end_s`.
inline std::vector<double> times(double from_s, double end_s, double step_s) {
  std::vector<double> result;
  const auto count = static_cast<int>(std::ceil((end_s - from_s) / step_s));
  for (int i = 0; i < count; ++i) {
    result.push_back(from_s + i * step_s);
  }
  return result;
}

inline Channel counter_channel(std::optional<std::uint64_t> range_uj) {
  Channel channel;
  channel.name = "powercap/package-0";
  channel.overlap_group = "package-0";
  channel.counter_range = range_uj;
  channel.update_period = std::chrono::milliseconds(1);
  return channel;
}

inline Channel power_channel() {
  Channel channel;
  channel.name = "nvml/GPU-1/power";
  channel.overlap_group = "GPU-1";
  channel.quantity = Quantity::kPower;
  channel.behavior = Behavior::kGauge;
  channel.domain = Domain::kGpu;
  channel.unit = RawUnit::kMilliwatt;
  channel.provenance = Provenance::kIntegrated;
  return channel;
}

/// Of a mask, bits 2 and 3 have names.
inline Channel metric_channel(const std::string& name,
                              RawUnit unit,
                              Behavior behavior = Behavior::kGauge) {
  Channel channel;
  channel.name = name;
  channel.overlap_group = name;
  channel.quantity = Quantity::kMetric;
  channel.behavior = behavior;
  channel.domain = Domain::kGpu;
  channel.unit = unit;
  if (unit == RawUnit::kBitMask) {
    channel.inputs = {{"2", "sw_power_cap"}, {"3", "hw_slowdown"}};
  }
  return channel;
}

inline RawReading ok_reading(double time_s, std::uint64_t raw) {
  const Nanoseconds time(static_cast<std::int64_t>(time_s * 1e9));
  return {ReadStatus::kOk, raw, time, time};
}

inline RawReading no_reading(double time_s, ReadStatus status = ReadStatus::kMissing) {
  const Nanoseconds time(static_cast<std::int64_t>(time_s * 1e9));
  return {status, 0, time, time};
}

inline Nanoseconds at_seconds(double time_s) {
  return Nanoseconds(static_cast<std::int64_t>(time_s * 1e9));
}

}  // namespace joulescale::testing
