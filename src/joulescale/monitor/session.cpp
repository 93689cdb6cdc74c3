// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/session.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "joulescale/base/unique_fd.h"

namespace joulescale {
namespace {

constexpr Nanoseconds kLongestWait = std::chrono::seconds(1);

timespec to_timespec(Nanoseconds duration) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration);
  return {static_cast<time_t>(seconds.count()), static_cast<long>((duration - seconds).count())};
}

/// The next of the signals; nothing after `patience`.
std::optional<siginfo_t> next_signal(const sigset_t& signals, Nanoseconds patience) {
  siginfo_t info{};
  const timespec timeout = to_timespec(std::max(patience, Nanoseconds(0)));
  if (::sigtimedwait(&signals, &info, &timeout) > 0) {
    return info;
  }
  return std::nullopt;
}

}  // namespace

CommandSession::CommandSession(Clock& clock)
    : clock_(clock),
      inherited_descriptors_(open_descriptors()),
      signals_(take_signals()),
      relay_(witness_, clock),
      awaited_(forwardable_signals()),
      none_pending_at_(clock.monotonic_now()) {
  ::sigaddset(&awaited_, SIGCHLD);
  // Orphans of the command come to us instead of vanishing from sight.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

std::optional<int> CommandSession::cancelled(Nanoseconds deadline) {
  while (true) {
    const auto info = next_signal(awaited_, deadline - clock_.monotonic_now());
    if (!info) {
      if (clock_.monotonic_now() >= deadline) {
        return std::nullopt;
      }
      continue;  // stopped and continued
    }
    if (asks_to_end(info->si_signo)) {
      return info->si_signo;
    }
    take(*info);
  }
}

Result<bool> CommandSession::start(const std::vector<std::string>& command,
                                   const std::vector<std::string>& environment) {
  run_.began = clock_.monotonic_now();
  JOULESCALE_TRY_ASSIGN(StartedCommand started,
                        start_command(command, environment, inherited_descriptors_, signals_));
  command_ = started.pid;
  exec_error_ = started.exec_error;
  if (command_ < 0) {
    run_.ended = clock_.monotonic_now();
    run_.status.exit_status = started.exec_status;
    return false;
  }
  relay_.set_command(command_, run_.began);
  return true;
}

void CommandSession::wait(bool wait_for_children) {
  while (command_ > 0) {
    Nanoseconds patience = kLongestWait;
    if (const auto deadline = relay_.next_deadline()) {
      patience = std::min(patience, *deadline - clock_.monotonic_now());
    }
    if (const auto info = next_signal(awaited_, patience)) {
      take(*info);
    }
    take_pending_signals();
    reap();
    relay_.relay_due();
    relay_.watch_group();
  }
  relay_.end();
  witness_.end();  // from here on waitpid() sees only what the command left behind
  run_.left_children = ::waitpid(-1, nullptr, WNOHANG) == 0;
  if (run_.left_children && wait_for_children) {
    wait_for_descendants();
  }
}

/// Keeps a signal for the command; the end of a child is no such.
void CommandSession::take(const siginfo_t& info) {
  if (info.si_signo != SIGCHLD) {
    relay_.take(info, none_pending_at_);
  }
}

/// Afterwards none is pending: a signal that is taken later has come after now.
void CommandSession::take_pending_signals() {
  while (true) {
    const Nanoseconds now = clock_.monotonic_now();
    const auto info = next_signal(awaited_, Nanoseconds(0));
    if (!info) {
      none_pending_at_ = now;
      return;
    }
    take(*info);
  }
}

/// Collects every child that has ended: the command, and orphans that came to us.
void CommandSession::reap() {
  int status = 0;
  pid_t pid = 0;
  while ((pid = ::waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
    if (relay_.took_note_of(pid, status)) {
      continue;
    }
    if (pid != command_) {
      continue;
    }
    if (WIFSTOPPED(status)) {
      mirror_stop(WSTOPSIG(status));
      continue;
    }
    run_.ended = clock_.monotonic_now();
    run_.status = command_status(status);
    command_ = -1;
    relay_.set_command(-1, run_.ended);
  }
}

/// The terminal stopped the command (Ctrl-Z): the shell waits for us to stop too.
void CommandSession::mirror_stop(int stop_signal) const {
  if (stop_signal != SIGTSTP && stop_signal != SIGTTIN && stop_signal != SIGTTOU) {
    return;
  }
  const UniqueFd terminal(::open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (terminal.valid()) {
    ::kill(::getpid(), SIGSTOP);
  }
}

/// Until no process of the command is left, or a signal asks to end. The last one's end is the end
/// of the measurement.
void CommandSession::wait_for_descendants() {
  while (true) {
    const pid_t pid = ::waitpid(-1, nullptr, WNOHANG);
    if (pid < 0 && errno == ECHILD) {
      run_.left_children = false;
      break;
    }
    if (pid > 0) {
      continue;
    }
    if (const auto info = next_signal(awaited_, kLongestWait)) {
      if (asks_to_end(info->si_signo)) {
        break;
      }
    }
  }
  run_.ended = clock_.monotonic_now();
}

}  // namespace joulescale
