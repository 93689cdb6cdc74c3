// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/counter_watch.h"

#include <algorithm>

namespace joulescale {
namespace {

constexpr int kMovesToWatch = 3;

}  // namespace

CounterWatch::CounterWatch(const Sensor& sensor, Nanoseconds now)
    : moves_(sensor.channels().size()) {
  if (const auto watch = sensor.tick_watch()) {
    interval_ = watch->interval;
    until_ = now + watch->limit;
  }
}

Nanoseconds CounterWatch::next(const Sensor& sensor,
                               std::span<const RawReading> readings,
                               Nanoseconds now,
                               Nanoseconds deadline) {
  if (now >= until_) {
    return deadline;
  }
  bool all_seen = true;
  for (std::size_t i = 0; i < moves_.size(); ++i) {
    Moves& channel = moves_[i];
    if (sensor.channels()[i].behavior != Behavior::kCounter ||
        readings[i].status == ReadStatus::kGone) {
      continue;
    }
    if (readings[i].status == ReadStatus::kOk) {
      channel.count += channel.last && *channel.last != readings[i].raw ? 1 : 0;
      channel.last = readings[i].raw;
    }
    all_seen = all_seen && channel.count >= kMovesToWatch;
  }
  if (all_seen) {
    until_ = now;
    return deadline;
  }
  return std::min(deadline, now + interval_);
}

}  // namespace joulescale
