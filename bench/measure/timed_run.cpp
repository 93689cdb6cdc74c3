// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/timed_run.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
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
  posix_spawn_file_actions_t streams;
  ::posix_spawn_file_actions_init(&streams);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    ::posix_spawn_file_actions_addopen(&streams, stream, "/dev/null", O_RDWR, 0);
  }
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  pid_t pid = 0;
  const int error =
      ::posix_spawnp(&pid, arguments[0], &streams, &attributes, arguments.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&streams);
  if (error != 0) {
    fail(command.front() + " cannot be started: " + std::strerror(error));
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
