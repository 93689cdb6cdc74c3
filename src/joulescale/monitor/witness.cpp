// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/witness.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "joulescale/monitor/signals.h"

namespace joulescale {
namespace {

/// What the witness writes for each signal, and with signal 0 as an answer to a question; below
/// PIPE_BUF, so it arrives whole.
struct WireReport {
  std::int64_t time_ns;
  std::int64_t signal;
};

/// Closes every descriptor but three, so that the witness holds open no pipe of the user's.
void close_all_but(std::array<int, 3> kept) {
  std::ranges::sort(kept);
  unsigned next = 0;
  for (const int fd : kept) {
    const auto limit = static_cast<unsigned>(fd);
    if (limit > next) {
      ::syscall(SYS_close_range, next, limit - 1, 0);
    }
    next = limit + 1;
  }
  ::syscall(SYS_close_range, next, ~0U, 0);
}

void report(int fd, int signal) {
  const WireReport report{system_clock().monotonic_now().count(), signal};
  if (::write(fd, &report, sizeof report) != static_cast<ssize_t>(sizeof report)) {
    ::_exit(1);  // the monitor is gone
  }
}

void report_pending_signals(int signal_fd, int reports_fd) {
  signalfd_siginfo info{};
  while (::read(signal_fd, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    report(reports_fd, static_cast<int>(info.ssi_signo));
  }
}

/// What was sent to the monitor's group before this process had left it was not sent to every
/// process: it would be taken for that, and not be passed on.
void leave_group() {
  ::setpgid(0, 0);
  const sigset_t signals = forwardable_signals();
  const timespec at_once{};
  while (::sigtimedwait(&signals, nullptr, &at_once) > 0) {
  }
}

[[noreturn]] void run_witness(int reports_fd, int alive_fd) {
  ::prctl(PR_SET_NAME, "joulescale-wit");
  const sigset_t signals = forwardable_signals();
  const int signal_fd = ::signalfd(-1, &signals, SFD_NONBLOCK);
  if (signal_fd < 0) {
    ::_exit(1);
  }
  close_all_but({reports_fd, alive_fd, signal_fd});
  while (true) {
    std::array<pollfd, 2> waits = {pollfd{signal_fd, POLLIN, 0}, pollfd{alive_fd, POLLIN, 0}};
    if (::poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) {
      ::_exit(1);
    }
    report_pending_signals(signal_fd, reports_fd);
    char question = 0;
    if ((waits[1].revents & POLLIN) != 0 && ::read(alive_fd, &question, 1) == 1) {
      report(reports_fd, 0);
    } else if ((waits[1].revents & (POLLHUP | POLLERR)) != 0) {
      ::_exit(0);
    }
  }
}

}  // namespace

Witness::Witness(Group group) : group_(group) { start(); }

void Witness::start() {
  std::array<int, 2> reports{};
  std::array<int, 2> alive{};
  if (::pipe2(reports.data(), O_CLOEXEC) != 0) {
    return;
  }
  reports_fd_.reset(reports[0]);
  UniqueFd reports_end(reports[1]);
  if (::pipe2(alive.data(), O_CLOEXEC) != 0) {
    return;
  }
  UniqueFd alive_end(alive[0]);
  alive_fd_.reset(alive[1]);
  pid_ = ::fork();
  if (pid_ == 0) {
    reports_fd_.reset();
    alive_fd_.reset();
    if (group_ == Group::kItsOwn) {
      leave_group();
    }
    run_witness(reports_end.get(), alive_end.get());
  }
  ::fcntl(reports_fd_.get(), F_SETFL, O_NONBLOCK);
}

Witness::~Witness() { end(); }

void Witness::end() {
  if (pid_ > 0) {
    alive_fd_.reset();
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
  }
}

bool Witness::took_note_of(pid_t child, int wait_status) {
  if (child <= 0 || child != pid_) {
    return false;
  }
  if (WIFSTOPPED(wait_status)) {
    ::kill(pid_, SIGCONT);
    return true;
  }
  collect();
  pid_ = -1;
  start();
  return true;
}

void Witness::collect() {
  std::array<char, 4096> buffer{};
  ssize_t count = 0;
  while ((count = ::read(reports_fd_.get(), buffer.data(), buffer.size())) > 0) {
    partial_.append(buffer.data(), static_cast<std::size_t>(count));
  }
  while (partial_.size() >= sizeof(WireReport)) {
    WireReport report{};
    std::memcpy(&report, partial_.data(), sizeof report);
    partial_.erase(0, sizeof report);
    reports_.push_back({static_cast<int>(report.signal), Nanoseconds(report.time_ns)});
  }
}

bool Witness::take_acknowledgement() {
  const auto found = std::ranges::find(reports_, 0, &Report::signal);
  if (found == reports_.end()) {
    return false;
  }
  reports_.erase(found);
  return true;
}

void Witness::catch_up(Nanoseconds patience) {
  const char question = '?';
  if (pid_ <= 0 || ::write(alive_fd_.get(), &question, 1) != 1) {
    return;
  }
  const Nanoseconds deadline = system_clock().monotonic_now() + patience;
  while (!take_acknowledgement()) {
    const Nanoseconds left = deadline - system_clock().monotonic_now();
    if (left <= Nanoseconds(0)) {
      return;
    }
    pollfd wait{reports_fd_.get(), POLLIN, 0};
    const auto left_ms = std::chrono::duration_cast<std::chrono::milliseconds>(left).count();
    ::poll(&wait, 1, static_cast<int>(left_ms) + 1);
    if ((wait.revents & (POLLHUP | POLLERR)) != 0) {
      return;
    }
    collect();
  }
}

bool Witness::saw(int signal, Nanoseconds first, Nanoseconds last, Nanoseconds command_started) {
  if (pid_ > 0) {
    collect();
  }
  std::erase_if(reports_,
                [&](const Report& r) { return r.time < first - std::chrono::seconds(5); });
  const auto found = std::ranges::find_if(reports_, [&](const Report& report) {
    return report.signal == signal && report.time >= first && report.time <= last;
  });
  if (found == reports_.end()) {
    return false;
  }
  const bool counts = found->time >= command_started;
  reports_.erase(found);
  return counts;
}

}  // namespace joulescale
