// SPDX-License-Identifier: Apache-2.0
// Passes signals on to the command exactly once: those that reached the monitor alone.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <optional>
#include <vector>

#include "joulescale/base/clock.h"
#include "joulescale/monitor/witness.h"

namespace joulescale {

/// Not thread safe.
class SignalRelay {
 public:
  SignalRelay(Witness& witness, Clock& clock) : witness_(witness), clock_(clock) {}

  /// The command exists from `started` on: what was sent to the group before did not reach it.
  void set_command(pid_t pid, Nanoseconds started);
  /// A signal taken by sigtimedwait(); it came after `not_before`, when none was pending. That may
  /// be long ago: the monitor itself may have been stopped.
  void take(const siginfo_t& info, Nanoseconds not_before);
  /// Decides about signals that have waited long enough for the witness.
  void relay_due();
  /// Sees whether the command has left our process group (timeout, setsid): what is sent to that
  /// does not reach it then. Once a second is enough.
  void watch_group();
  /// Of a child of this process: whether it is a witness.
  bool took_note_of(pid_t child, int wait_status);
  /// Ends what watch_group() started.
  void end() { outside_.reset(); }
  /// When relay_due() has something to do next.
  std::optional<Nanoseconds> next_deadline() const;

 private:
  struct Pending {
    int signal = 0;
    bool has_value = false;  // sent with sigqueue()
    sigval value{};
    Nanoseconds not_before{0};  // came between these two
    Nanoseconds time{0};
  };
  bool command_left_group() const;
  bool reached_command(const Pending& pending);
  void send(const Pending& pending) const;

  Witness& witness_;
  /// While the command is in another group: tells what was sent to our group from what was sent to
  /// each process of a job.
  std::optional<Witness> outside_;
  Clock& clock_;
  pid_t command_ = -1;
  Nanoseconds command_started_{0};
  std::vector<Pending> pending_;
};

}  // namespace joulescale
