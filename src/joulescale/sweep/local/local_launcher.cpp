// SPDX-License-Identifier: Apache-2.0
#include "joulescale/sweep/local/local_launcher.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

#include "joulescale/base/clock.h"
#include "joulescale/base/unique_fd.h"
#include "joulescale/sweep/local/child_process.h"
#include "joulescale/sweep/local/signals.h"

namespace joulescale {
namespace {

constexpr auto kStopGrace = std::chrono::seconds(10);
constexpr auto kLeftoverGrace = std::chrono::seconds(2);

/// Waits for the run to end; stops its whole process group on a signal.
int guard_until_end(pid_t run, const SignalQueue& signals) {
  std::optional<Nanoseconds> kill_at;
  while (true) {
    int wait_status = 0;
    pid_t ended = 0;
    while ((ended = ::waitpid(-1, &wait_status, WNOHANG)) > 0) {
      if (ended == run) {
        return shell_status(wait_status);
      }
    }
    const auto info = signals.wait(kChildPoll);
    const bool asked = info && info->si_signo != SIGCHLD && info->si_pid != ::getpid();
    if (asked && !kill_at) {
      ::kill(0, SIGTERM);  // the guard's own group: itself and the run
      kill_at = system_clock().monotonic_now() + kStopGrace;
    }
    if (kill_at && system_clock().monotonic_now() >= *kill_at) {
      kill_descendants();
    }
  }
}

/// The guard process, from fork to its end.
[[noreturn]] void run_guard(const LaunchRequest& request, int log_fd, pid_t sweep) {
  ::setpgid(0, 0);
  const SignalQueue signals;
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != sweep) {
    ::_exit(128 + SIGTERM);
  }
  adopt_orphans();
  const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  ChildOptions options;
  options.argv = request.argv;
  options.working_directory = request.working_directory;
  options.input_fd = nothing.get();
  options.output_fd = log_fd;
  options.error_fd = log_fd;
  options.death_signal = SIGTERM;
  const auto run = start_child(options);
  if (!run) {
    const std::string line = fmt::format("joulescale sweep: {}\n", run.error().text());
    (void)!::write(log_fd, line.data(), line.size());
    ::_exit(run.error().code() == ErrorCode::kUnavailable ? 127 : 126);
  }
  const int status = guard_until_end(*run, signals);
  stop_descendants(kLeftoverGrace);
  ::_exit(status);
}

}  // namespace

LocalLauncher::LocalLauncher() { adopt_orphans(); }

Result<void> LocalLauncher::start(const LaunchRequest& request) {
  const UniqueFd log(
      ::open(request.log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!log.valid()) {
    return io_error("write", request.log_file.native(), errno);
  }
  const pid_t sweep = ::getpid();
  guard_ = ::fork();
  if (guard_ < 0) {
    return io_error("start", "a process", errno);
  }
  if (guard_ == 0) {
    run_guard(request, log.get(), sweep);
  }
  ::setpgid(guard_, guard_);  // in both processes: whoever comes first
  return {};
}

std::optional<int> LocalLauncher::poll() {
  int wait_status = 0;
  if (guard_ <= 0 || ::waitpid(guard_, &wait_status, WNOHANG) != guard_) {
    return std::nullopt;
  }
  guard_ = 0;
  stop_descendants(kLeftoverGrace);  // of a guard that was itself killed
  return shell_status(wait_status);
}

void LocalLauncher::stop() {
  if (guard_ > 0) {
    ::kill(guard_, SIGTERM);
  }
}

void LocalLauncher::kill() { kill_descendants(); }

}  // namespace joulescale
