// SPDX-License-Identifier: Apache-2.0
// Reads a sensor's counters faster than asked at the start of its sampling, until their pace has
// shown.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "joulescale/base/clock.h"
#include "joulescale/sensors/sensor.h"

namespace joulescale {

/// Not thread safe.
class CounterWatch {
 public:
  /// Watches for as long as Sensor::tick_watch() wants from `now` on.
  CounterWatch(const Sensor& sensor, Nanoseconds now);
  /// When to read next; `deadline` once enough was seen.
  Nanoseconds next(const Sensor& sensor,
                   std::span<const RawReading> readings,
                   Nanoseconds now,
                   Nanoseconds deadline);

 private:
  struct Moves {
    std::optional<std::uint64_t> last;
    int count = 0;
  };

  std::vector<Moves> moves_;
  Nanoseconds interval_{0};
  Nanoseconds until_{0};
};

}  // namespace joulescale
