// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/energy_timeline.h"

namespace joulescale {

PeakPower::PeakPower(EnergyTimeline& timeline,
                     Nanoseconds begin,
                     Nanoseconds end,
                     Nanoseconds window)
    : timeline_(timeline),
      begin_(begin),
      end_(end),
      step_(std::max(std::min(window, end - begin) / static_cast<std::int64_t>(kSteps),
                     Nanoseconds(1))) {}

void PeakPower::look_at(Nanoseconds time) {
  while (begin_ + num_steps_ * step_ <= std::min(time, end_)) {
    const Joules energy = timeline_.at(begin_ + num_steps_ * step_).measured;
    Joules& slot = recent_[static_cast<std::size_t>(num_steps_) % kSteps];
    if (num_steps_ >= static_cast<std::int64_t>(kSteps)) {
      peak_ = std::max(peak_, (energy - slot) / to_seconds(kSteps * step_));
    }
    slot = energy;
    ++num_steps_;
  }
}

NodeJoules PeakPower::at(Nanoseconds time) {
  look_at(time);
  return timeline_.at(time);
}

std::optional<Watts> PeakPower::finish() {
  look_at(end_);
  if (!has_measured() || failed() || num_steps_ <= static_cast<std::int64_t>(kSteps)) {
    return std::nullopt;
  }
  return peak_;
}

}  // namespace joulescale
