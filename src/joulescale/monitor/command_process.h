// SPDX-License-Identifier: Apache-2.0
// The measured command as a child process: started with the caller's own environment, descriptors
// and signal state; it stays alive whatever happens to the monitor.
#pragma once

#include <sys/types.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "joulescale/base/error.h"
#include "joulescale/monitor/signals.h"

namespace joulescale {

/// How a process ended.
struct CommandStatus {
  std::optional<int> exit_status;  // one of the two
  std::optional<int> signal;
};

/// The descriptors that are open now: those that the command inherits.
std::set<int> open_descriptors();

struct StartedCommand {
  pid_t pid = -1;
  /// exec failed: 127 (not found) or 126 (cannot be run), as a shell says it, and why.
  int exec_status = 0;
  std::string exec_error;
};

/// Starts `command` with `environment` ("NAME=value"). Descriptors outside `inherited` are closed
/// in it. Errors: fork or pipe failed.
Result<StartedCommand> start_command(const std::vector<std::string>& command,
                                     const std::vector<std::string>& environment,
                                     const std::set<int>& inherited,
                                     const SignalState& signals);

CommandStatus command_status(int wait_status);

}  // namespace joulescale
