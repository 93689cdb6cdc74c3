// SPDX-License-Identifier: Apache-2.0
#include "joulescale/sweep/local/signals.h"

namespace joulescale {

SignalQueue::SignalQueue() {
  std::signal(SIGCHLD, SIG_DFL);  // an inherited SIG_IGN would hide the ends of children
  sigemptyset(&awaited_);
  sigaddset(&awaited_, SIGCHLD);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction current{};
    sigaction(signal, nullptr, &current);
    if (current.sa_handler != SIG_IGN) {
      sigaddset(&awaited_, signal);
    }
  }
  sigprocmask(SIG_BLOCK, &awaited_, &previous_);
}

SignalQueue::~SignalQueue() { sigprocmask(SIG_SETMASK, &previous_, nullptr); }

std::optional<siginfo_t> SignalQueue::wait(Nanoseconds timeout) const {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout);
  const timespec limit{seconds.count(), (timeout - seconds).count()};
  siginfo_t info{};
  if (sigtimedwait(&awaited_, &info, &limit) > 0) {
    return info;
  }
  return std::nullopt;
}

}  // namespace joulescale
