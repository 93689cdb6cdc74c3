// SPDX-License-Identifier: Apache-2.0
// Real programs in tests: started, signalled, waited for with a limit, their output read back.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/temp_dir.h"

namespace joulescale::testing {

/// A program in a process group of its own, killed by the destructor if it still runs.
class ProgramRun {
 public:
  struct Options {
    std::filesystem::path working_directory = "/";
    std::optional<rlim_t> max_file_bytes;  // writes beyond fail, as on a full disk
  };

  explicit ProgramRun(const std::vector<std::string>& argv) : ProgramRun(argv, Options()) {}
  ProgramRun(const std::vector<std::string>& argv, const Options& options) {
    std::vector<std::string> copy = argv;
    std::vector<char*> pointers;
    for (std::string& argument : copy) {
      pointers.push_back(argument.data());
    }
    pointers.push_back(nullptr);
    const std::string out = (files_ / "out").native();
    const std::string err = (files_ / "err").native();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::setpgid(0, 0);
      redirect(out, STDOUT_FILENO);
      redirect(err, STDERR_FILENO);
      if (options.max_file_bytes) {
        const rlimit limit{*options.max_file_bytes, *options.max_file_bytes};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        ::signal(SIGXFSZ, SIG_IGN);
      }
      if (::chdir(options.working_directory.c_str()) == 0) {
        ::execvp(pointers[0], pointers.data());
      }
      ::_exit(127);
    }
    ::setpgid(pid_, pid_);
  }
  ~ProgramRun() {
    if (!status_) {
      ::kill(-pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }
  ProgramRun(const ProgramRun&) = delete;
  ProgramRun& operator=(const ProgramRun&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const { ::kill(pid_, number); }

  /// The status as a shell gives it; -1 when the program still runs after `limit`.
  int wait(std::chrono::milliseconds limit = std::chrono::seconds(60)) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (!status_) {
      int status = 0;
      if (::waitpid(pid_, &status, WNOHANG) == pid_) {
        status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
      } else if (std::chrono::steady_clock::now() > deadline) {
        return -1;
      } else {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    }
    return *status_;
  }

  std::string out() const { return text_of(files_ / "out"); }
  std::string err() const { return text_of(files_ / "err"); }

  static std::string text_of(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

 private:
  static void redirect(const std::string& file, int standard_fd) {
    const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd < 0 || ::dup2(fd, standard_fd) < 0) {
      ::_exit(126);
    }
    ::close(fd);
  }

  TempDir files_;
  pid_t pid_ = 0;
  std::optional<int> status_;
};

/// Processes (zombies aside) whose command line or environment holds `word`, this one left out.
inline std::vector<std::string> processes_with(const std::string& word) {
  std::vector<std::string> found;
  std::error_code code;
  for (std::filesystem::directory_iterator entry("/proc", code), end; !code && entry != end;
       entry.increment(code)) {
    const std::string pid = entry->path().filename().native();
    if (pid.find_first_not_of("0123456789") != std::string::npos ||
        pid == std::to_string(::getpid())) {
      continue;
    }
    const std::string command = ProgramRun::text_of(entry->path() / "cmdline");
    if (command.find(word) != std::string::npos ||
        ProgramRun::text_of(entry->path() / "environ").find(word) != std::string::npos) {
      found.push_back(pid + ": " + command);
    }
  }
  return found;
}

/// Waits until `condition` holds; false after `limit`.
template <typename Condition>
bool eventually(Condition condition, std::chrono::milliseconds limit = std::chrono::seconds(20)) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

}  // namespace joulescale::testing
