// SPDX-License-Identifier: Apache-2.0
// What the sweep says while it runs: a line that moves on a terminal, plain lines in a log.
#pragma once

#include <cstddef>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "joulescale/base/clock.h"
#include "joulescale/base/units.h"
#include "joulescale/sweep/plan.h"

namespace joulescale {

/// Expected durations, from runs that have ended. All runs of a study process the same number of
/// samples, so that a run on n devices is taken to last 1/n of one on a single device, until a run
/// of the same configuration has ended.
class TimeEstimate {
 public:
  void add(const Configuration& configuration, Seconds duration);
  /// Nothing before the first add().
  std::optional<Seconds> of(const Configuration& configuration) const;

 private:
  struct Sum {
    double seconds = 0.0;
    int count = 0;
  };
  std::map<Configuration, Sum> by_configuration_;
  double total_seconds_ = 0.0;
  double total_weight_ = 0.0;
};

/// "0:07", "12:30", "3:05:00".
std::string format_duration(Seconds duration);

class Progress {
 public:
  /// `out`: nullptr to say nothing. `total`: runs of the study.
  Progress(std::FILE* out, bool terminal, std::size_t total);

  /// `position`: from 1 to `total`.
  void begin_run(const std::string& name, int attempt, std::size_t position);
  /// Redraws the line; `left`: of the whole sweep from now on. Does nothing in a log.
  void tick(std::optional<Seconds> left);
  /// `detail`: "" for a run that is done.
  void end_run(const std::string& detail, std::optional<Seconds> left);
  /// A line of its own.
  void say(const std::string& line);
  Seconds elapsed_of_run() const;

 private:
  void clear_line();

  std::FILE* out_;
  bool terminal_;
  std::size_t total_;
  std::size_t position_ = 0;
  std::string name_;
  Nanoseconds started_{0};
  Nanoseconds run_started_{0};
};

}  // namespace joulescale
