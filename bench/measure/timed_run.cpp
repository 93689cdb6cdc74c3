// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/timed_run.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace bench {

void fail(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  std::exit(1);  // NOLINT(concurrency-mt-unsafe): one thread
}

double monotonic_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

Command numbered(const Command& command, long run) {
  Command result = command;
  for (std::string& argument : result) {
    if (const std::size_t place = argument.find("@N@"); place != std::string::npos) {
      argument.replace(place, 3, std::to_string(run));
    }
  }
  return result;
}

pid_t start(const Command& command) {
  Command copy = command;
  std::vector<char*> arguments;
  for (std::string& argument : copy) {
    arguments.push_back(argument.data());
  }
  arguments.push_back(nullptr);
  const pid_t pid = ::vfork();
  if (pid == 0) {
    ::setpgid(0, 0);
    const int null = ::open("/dev/null", O_RDWR);
    ::dup2(null, STDIN_FILENO);
    ::dup2(null, STDOUT_FILENO);
    ::dup2(null, STDERR_FILENO);
    ::close(null);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  return pid;
}

void kill_group(pid_t pid) {
  ::kill(-pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

double timed_run(const Command& command, long run, double limit_s) {
  const Command numbered_command = numbered(command, run);
  const double started = monotonic_seconds();
  const pid_t pid = start(numbered_command);
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  pollfd wait{fd, POLLIN, 0};
  if (fd < 0 || ::poll(&wait, 1, static_cast<int>(limit_s * 1e3)) <= 0) {
    kill_group(pid);
    fail(command.front() + " did not return within " + std::to_string(static_cast<long>(limit_s)) +
         " s");
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  const double seconds = monotonic_seconds() - started;
  ::close(fd);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    fail(command.front() + (WIFEXITED(status)
                                ? " failed with exit status " + std::to_string(WEXITSTATUS(status))
                                : " was killed by signal " + std::to_string(WTERMSIG(status))));
  }
  return seconds;
}

}  // namespace bench
