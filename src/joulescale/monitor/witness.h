// SPDX-License-Identifier: Apache-2.0
// A process of ours in the monitor's process group that reports which signals it receives. A signal
// that reaches the witness too was sent to the whole group (terminal, kill -PGID, a launcher's
// step), so the command has it already; one that reaches the monitor alone must be passed on.
#pragma once

#include <sys/types.h>

#include <deque>
#include <string>

#include "joulescale/base/clock.h"
#include "joulescale/base/unique_fd.h"

namespace joulescale {

class Witness {
 public:
  enum class Group {
    kOurs,
    kItsOwn,  // sees what is sent to every process of a job, and not what is sent to our group
  };
  /// Forks the witness; call it after take_signals(). Without a witness (fork failed) no signal
  /// counts as seen.
  explicit Witness(Group group = Group::kOurs);
  /// Ends and reaps it.
  ~Witness();
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;

  pid_t pid() const { return pid_; }
  /// Returns when the witness has reported all that it received so far, or after `patience`: on a
  /// busy machine it may not have run for a while.
  void catch_up(Nanoseconds patience);
  /// Whether the witness received the signal between `first` and `last`, and not before
  /// `command_started`; each report counts once.
  bool saw(int signal, Nanoseconds first, Nanoseconds last, Nanoseconds command_started);
  void end();
  /// Of a child of this process: whether it is the witness. One that was killed is forked anew, one
  /// that was stopped goes on.
  bool took_note_of(pid_t child, int wait_status);

 private:
  struct Report {
    int signal = 0;
    Nanoseconds time{0};
  };
  void start();
  void collect();
  bool take_acknowledgement();

  Group group_;
  pid_t pid_ = -1;
  UniqueFd reports_fd_;
  UniqueFd alive_fd_;  // asks for an answer; its end says that the monitor is gone
  std::string partial_;
  std::deque<Report> reports_;
};

}  // namespace joulescale
