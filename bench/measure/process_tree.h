// SPDX-License-Identifier: Apache-2.0
// What the processes of a tool use, the command that it wraps left out.
#pragma once

#include <sys/types.h>

#include <map>
#include <vector>

namespace bench {

/// One process at one moment.
struct ProcessUse {
  double pss_kib = 0.0;
  double rss_peak_kib = 0.0;  // since its start
  double cpu_s = 0.0;         // since its start
  double switches = 0.0;      // times that its threads gave the processor away, since their start
  int threads = 0;
};

/// `root` and its descendants but those that run this very program (the wrapped command).
std::vector<pid_t> tool_processes(pid_t root);
std::map<pid_t, ProcessUse> use_of(const std::vector<pid_t>& processes);

}  // namespace bench
