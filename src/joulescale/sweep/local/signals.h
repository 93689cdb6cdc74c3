// SPDX-License-Identifier: Apache-2.0
// Signals as events: a program that starts others waits for them at one place, instead of having
// handlers run anywhere.
#pragma once

#include <chrono>
#include <csignal>
#include <optional>

#include "joulescale/base/clock.h"

namespace joulescale {

/// How long who waits for children waits for a signal before it looks at them by itself.
inline constexpr auto kChildPoll = std::chrono::milliseconds(500);

/// While one exists, SIGCHLD, SIGINT, SIGTERM and SIGHUP are blocked and come out of wait() only.
/// The last three stay as they are where the caller ignores them (nohup, background jobs).
/// Not thread safe; at most one a process.
class SignalQueue {
 public:
  SignalQueue();
  ~SignalQueue();
  SignalQueue(const SignalQueue&) = delete;
  SignalQueue& operator=(const SignalQueue&) = delete;

  /// The next signal, or nothing after `timeout`.
  std::optional<siginfo_t> wait(Nanoseconds timeout) const;

 private:
  sigset_t awaited_{};
  sigset_t previous_{};
};

}  // namespace joulescale
