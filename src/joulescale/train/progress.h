// SPDX-License-Identifier: Apache-2.0
// Progress of a run on stderr: a bar that is redrawn on a terminal, a line now and then elsewhere.
#pragma once

#include <cstdint>
#include <string>

#include "joulescale/base/clock.h"

namespace joulescale {

class TrainingProgress {
 public:
  /// `total`: updates of the run. `visible` false: prints nothing. `terminal`: redraw one line.
  TrainingProgress(std::int64_t total,
                   bool visible,
                   bool terminal,
                   const Clock& clock = system_clock());
  TrainingProgress(const TrainingProgress&) = delete;
  TrainingProgress& operator=(const TrainingProgress&) = delete;
  /// Ends a bar's line.
  ~TrainingProgress();

  /// To be called after every update; prints when it is time to.
  void update(std::int64_t done, std::int64_t samples, double loss);

  /// "update 120/312  38 %  987 images/s  loss 0.613  3 s left". `elapsed`: since the start.
  static std::string line(std::int64_t done,
                          std::int64_t total,
                          std::int64_t samples,
                          double loss,
                          Nanoseconds elapsed);

 private:
  std::int64_t total_;
  bool visible_;
  bool terminal_;
  bool bar_open_ = false;
  const Clock* clock_;
  Nanoseconds start_;
  Nanoseconds next_;
};

}  // namespace joulescale
