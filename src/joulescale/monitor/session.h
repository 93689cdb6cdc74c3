// SPDX-License-Identifier: Apache-2.0
// The command's life under the monitor: start, signals, end, and what it leaves behind.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "joulescale/base/clock.h"
#include "joulescale/monitor/command_process.h"
#include "joulescale/monitor/signal_relay.h"
#include "joulescale/monitor/signals.h"
#include "joulescale/monitor/witness.h"

namespace joulescale {

struct CommandRun {
  Nanoseconds began{0};
  Nanoseconds ended{0};
  CommandStatus status;
  bool left_children = false;  // processes of the command that go on
};

/// Takes the signals of the process at construction; make it before any thread is started.
class CommandSession {
 public:
  explicit CommandSession(Clock& clock);

  /// A signal that asks to end and comes before the command is started, by `deadline` at the
  /// latest; others are kept for the command.
  std::optional<int> cancelled(Nanoseconds deadline = Nanoseconds(0));
  /// Starts the command. Afterwards `run().began` is set. False: exec failed, status() tells.
  Result<bool> start(const std::vector<std::string>& command,
                     const std::vector<std::string>& environment);
  /// Relays signals until the command, and with `wait_for_children` all it left behind, has ended.
  void wait(bool wait_for_children);

  /// A process of ours among the monitor's children, no part of the command.
  pid_t witness() const { return witness_.pid(); }
  /// The command's process while it runs, else -1.
  pid_t command() const { return command_; }
  const CommandRun& run() const { return run_; }
  const std::string& exec_error() const { return exec_error_; }

 private:
  void take(const siginfo_t& info);
  void take_pending_signals();
  void reap();
  void mirror_stop(int stop_signal) const;
  void wait_for_descendants();

  Clock& clock_;
  std::set<int> inherited_descriptors_;
  SignalState signals_;
  Witness witness_;
  SignalRelay relay_;
  sigset_t awaited_{};
  Nanoseconds none_pending_at_;
  pid_t command_ = -1;
  CommandRun run_;
  std::string exec_error_;
};

}  // namespace joulescale
