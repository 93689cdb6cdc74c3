// SPDX-License-Identifier: Apache-2.0
// A program on a terminal of its own: what is typed reaches it as from a keyboard.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "joulescale/base/unique_fd.h"

namespace joulescale::testing {

/// Session leader on a new pseudo-terminal; killed by the destructor if it still runs.
class TerminalProgram {
 public:
  explicit TerminalProgram(std::vector<std::string> arguments) {
    std::vector<char*> pointers;
    pointers.reserve(arguments.size() + 1);
    for (std::string& argument : arguments) {
      pointers.push_back(argument.data());
    }
    pointers.push_back(nullptr);
    int terminal = -1;
    pid_ = ::forkpty(&terminal, nullptr, nullptr, nullptr);
    if (pid_ == 0) {
      ::execvp(pointers[0], pointers.data());
      ::_exit(99);
    }
    terminal_.reset(terminal);
  }
  ~TerminalProgram() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }
  TerminalProgram(const TerminalProgram&) = delete;
  TerminalProgram& operator=(const TerminalProgram&) = delete;

  pid_t pid() const { return pid_; }
  void type(std::string_view keys) const {
    [[maybe_unused]] const ssize_t written = ::write(terminal_.get(), keys.data(), keys.size());
  }
  /// Everything shown so far.
  const std::string& shown() const { return shown_; }
  /// Waits until `text` was shown `times` times.
  bool wait_for(std::string_view text, std::size_t times = 1) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (count(text) < times) {
      if (std::chrono::steady_clock::now() > deadline || !collect(100)) {
        return count(text) >= times;
      }
    }
    return true;
  }
  std::size_t count(std::string_view text) const {
    std::size_t found = 0;
    for (std::size_t at = shown_.find(text); at != std::string::npos;
         at = shown_.find(text, at + 1)) {
      ++found;
    }
    return found;
  }
  /// Reads until the program has ended: its exit status, or -N for signal N.
  int wait_status() {
    while (collect(100)) {
    }
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  }

 private:
  /// False when the terminal has no user any more.
  bool collect(int patience_ms) {
    pollfd wait{terminal_.get(), POLLIN, 0};
    if (::poll(&wait, 1, patience_ms) == 0) {
      return true;
    }
    std::array<char, 4096> buffer{};
    const ssize_t count = ::read(terminal_.get(), buffer.data(), buffer.size());
    if (count <= 0) {
      return false;
    }
    shown_.append(buffer.data(), static_cast<std::size_t>(count));
    return true;
  }

  UniqueFd terminal_;
  std::string shown_;
  pid_t pid_ = -1;
};

}  // namespace joulescale::testing
