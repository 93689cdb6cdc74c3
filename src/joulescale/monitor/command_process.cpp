// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/command_process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "joulescale/base/text.h"
#include "joulescale/base/unique_fd.h"

namespace joulescale {
namespace {

constexpr int kNotFound = 127;
constexpr int kNotExecutable = 126;

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) {
    pointers.push_back(const_cast<char*>(text.c_str()));  // NOLINT(*-const-cast): exec's own type
  }
  pointers.push_back(nullptr);
  return pointers;
}

/// The errno that the child sends when exec fails; 0 when exec succeeded and closed the pipe.
int read_exec_error(int fd) {
  int error = 0;
  ssize_t count = 0;
  do {
    count = ::read(fd, &error, sizeof error);
  } while (count < 0 && errno == EINTR);
  return count == static_cast<ssize_t>(sizeof error) ? error : 0;
}

}  // namespace

std::set<int> open_descriptors() {
  std::set<int> descriptors;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
    if (const auto fd = parse_int64(entry.path().filename().native())) {
      descriptors.insert(static_cast<int>(*fd));
    }
  }
  return descriptors;
}

Result<StartedCommand> start_command(const std::vector<std::string>& command,
                                     const std::vector<std::string>& environment,
                                     const std::set<int>& inherited,
                                     const SignalState& signals) {
  // Libraries of a vendor may have opened descriptors without close-on-exec.
  for (const int fd : open_descriptors()) {
    if (!inherited.contains(fd)) {
      ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
  }
  const std::vector<char*> arguments = pointers_to(command);
  const std::vector<char*> variables = pointers_to(environment);
  std::array<int, 2> error_pipe{};
  if (::pipe2(error_pipe.data(), O_CLOEXEC) != 0) {
    return io_error("make a pipe for", command.front(), errno);
  }
  const UniqueFd read_end(error_pipe[0]);
  UniqueFd write_end(error_pipe[1]);
  const pid_t pid = ::fork();
  if (pid < 0) {
    return io_error("start", command.front(), errno);
  }
  if (pid == 0) {  // only async-signal-safe calls: other threads exist in the parent
    restore_signals(signals);
    ::execvpe(arguments[0], arguments.data(), variables.data());
    const int error = errno;
    const ssize_t ignored = ::write(write_end.get(), &error, sizeof error);
    ::_exit(ignored > 0 && error == ENOENT ? kNotFound : kNotExecutable);
  }
  write_end.reset();
  StartedCommand started;
  started.pid = pid;
  if (const int error = read_exec_error(read_end.get()); error != 0) {
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    started.pid = -1;
    started.exec_status = error == ENOENT ? kNotFound : kNotExecutable;
    started.exec_error =
        error == ENOENT ? fmt::format("command '{}' not found", command.front())
                        : fmt::format("cannot run '{}': {}", command.front(), std::strerror(error));
  }
  return started;
}

CommandStatus command_status(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    return {std::nullopt, WTERMSIG(wait_status)};
  }
  return {WEXITSTATUS(wait_status), std::nullopt};
}

}  // namespace joulescale
