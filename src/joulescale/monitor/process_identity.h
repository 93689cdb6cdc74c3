// SPDX-License-Identifier: Apache-2.0
// Which process a monitor is, so that others can tell whether it still runs.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace joulescale {

/// A process number means something in its PID namespace only (containers of one node have their
/// own), and is given to another process one day.
struct ProcessIdentity {
  pid_t pid = 0;
  std::string pid_namespace;      // as /proc/self/ns/pid names it; empty: not known
  std::uint64_t start_ticks = 0;  // since the node's boot; 0: not known
};

ProcessIdentity own_process();
/// Of another process in the PID namespace of this one, such as a child.
ProcessIdentity process_here(pid_t pid);

/// kUnknown: it runs, if so, in a PID namespace that is not this process's.
enum class Liveness { kRuns, kEnded, kUnknown };

/// Of a process of this node. One that has ended and whose parent has not taken notice has ended.
Liveness liveness_of(const ProcessIdentity& process);

}  // namespace joulescale
