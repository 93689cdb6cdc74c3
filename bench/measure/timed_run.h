// SPDX-License-Identifier: Apache-2.0
// Starts a command, waits for it with a limit, and tells how long it took.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace bench {

using Command = std::vector<std::string>;

double monotonic_seconds();

/// The command's process, in a group of its own; its output goes to /dev/null.
pid_t start(const Command& command);
/// Kills the whole group.
void kill_group(pid_t pid);

/// Seconds from start to end. Ends the program with one line when the command fails or does not end
/// within `limit_s`. "@N@" in an argument becomes the number `run`.
double timed_run(const Command& command, long run, double limit_s);

/// The command with "@N@" replaced by `run`.
Command numbered(const Command& command, long run);

[[noreturn]] void fail(const std::string& message);

}  // namespace bench
