// SPDX-License-Identifier: Apache-2.0
// A node whose power never changes.
#pragma once

#include <algorithm>

#include "joulescale/monitor/energy_timeline.h"

namespace joulescale::testing {

class SteadyTimeline final : public EnergyTimeline {
 public:
  SteadyTimeline(Nanoseconds begin, Watts measured, Watts estimated, Nanoseconds resolution)
      : begin_(begin),
        now_(begin),
        measured_(measured),
        estimated_(estimated),
        resolution_(resolution) {}

  NodeJoules at(Nanoseconds time) override {
    now_ = std::max(now_, time);
    return {measured_ * to_seconds(now_ - begin_), estimated_ * to_seconds(now_ - begin_)};
  }
  bool has_measured() const override { return measured_ > Watts(0.0); }
  bool has_estimated() const override { return estimated_ > Watts(0.0); }
  Nanoseconds resolution() const override { return resolution_; }

 private:
  Nanoseconds begin_;
  Nanoseconds now_;
  Watts measured_;
  Watts estimated_;
  Nanoseconds resolution_;
};

}  // namespace joulescale::testing
