// SPDX-License-Identifier: Apache-2.0
// The measurements of bench_measure; each prints one line of tab-separated numbers.
#pragma once

#include <string>

#include "bench/measure/timed_run.h"

namespace bench {

struct Options {
  long pairs = 20;
  double seconds = 5.0;
  double limit_s = 60.0;
  double from_s = 1.0;      // of `use`: CPU time counts from here on
  double rate_hz = 0.0;     // of `timer`
  long work = 100;          // of `spin`: millions of steps a thread
  std::string result_file;  // where the wrapped command writes its own time
  Command base;
  Command tool;
};

/// Seconds that the tool adds to the base command: median, low, high, then the base's own median.
void wall(const Options& options);
/// The wrapped command's own time with the tool over that without: median, low, high.
void slowdown(const Options& options);
/// The tool's processes while it wraps a command that sleeps: peak PSS and RSS in KiB, processes,
/// threads, share of one core, wake-ups a second.
void use(const Options& options);
/// Fixed work on all cores; writes its seconds into the result file.
void spin(const Options& options);

/// The floor of every sampler on this machine: a thread that wakes at a fixed rate and does
/// nothing. Share of one core.
void timer(const Options& options);

}  // namespace bench
