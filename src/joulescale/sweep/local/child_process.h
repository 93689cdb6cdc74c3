// SPDX-License-Identifier: Apache-2.0
// Starting child processes so that none is ever left behind. For single-threaded programs.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "joulescale/base/clock.h"
#include "joulescale/base/error.h"

namespace joulescale {

struct ChildOptions {
  std::vector<std::string> argv;                                 // argv[0] is looked up in PATH
  std::vector<std::pair<std::string, std::string>> environment;  // added to ours
  std::filesystem::path working_directory;                       // empty: ours
  std::vector<int> cpus;                                         // empty: not pinned
  int input_fd = -1;                                             // -1: ours
  int output_fd = -1;                                            // stdout; -1: ours
  int error_fd = -1;                                             // stderr; -1: ours
  int passed_fd = -1;              // a descriptor that stays open in the child
  bool own_process_group = false;  // the child leads a new process group
  int death_signal = 0;            // what the child gets when this process dies, however it dies
};

/// The child's process id, once it runs the program. Its signal mask is empty. Errors:
/// kUnavailable when the program is not found, kPermission when it cannot be executed, else kIo.
Result<pid_t> start_child(const ChildOptions& options);

/// A wait status as a shell gives it: the exit status, or 128 + N for signal N.
int shell_status(int wait_status);

/// "ended with status 3", "was killed by signal 9 (Killed)".
std::string describe_wait_status(int wait_status);

/// Processes that lost their parent among our descendants become our children, so that
/// stop_descendants() finds them.
void adopt_orphans();

/// Ends every descendant of this process: SIGTERM, and after `grace` SIGKILL; reaps what is ours.
void stop_descendants(Nanoseconds grace);

/// SIGKILL to every descendant of this process.
void kill_descendants();

struct CapturedRun {
  int status = 0;      // as shell_status()
  std::string output;  // what it wrote to stderr, at most 64 KiB
};

/// Runs a short command to its end; its stdout is thrown away.
Result<CapturedRun> run_and_capture_errors(const std::vector<std::string>& argv,
                                           const std::filesystem::path& working_directory);

}  // namespace joulescale
