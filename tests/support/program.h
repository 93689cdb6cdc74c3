// SPDX-License-Identifier: Apache-2.0
// Runs a program and tells how it ended and what it wrote.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>
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
#include <vector>

#include "tests/support/temp_dir.h"

namespace joulescale::testing {

struct ProgramOptions {
  std::filesystem::path directory = {};                 // empty: this process's
  std::map<std::string, std::string> environment = {};  // added to this process's
  bool new_session = false;                             // its own process group too
  std::optional<rlim_t> file_size_limit = {};
};

/// A running program. Killed at the end of its life if it still runs.
class Program {
 public:
  explicit Program(const std::vector<std::string>& arguments, const ProgramOptions& options = {}) {
    std::vector<std::string> copy = arguments;
    std::vector<char*> pointers;
    for (std::string& argument : copy) {
      pointers.push_back(argument.data());
    }
    pointers.push_back(nullptr);
    const std::string out = (directory_ / "out").native();
    const std::string err = (directory_ / "err").native();
    pid_ = ::fork();
    if (pid_ == 0) {
      prepare_child(options, out, err);
      ::execvp(pointers[0], pointers.data());
      ::_exit(99);
    }
  }
  ~Program() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const { ::kill(pid_, number); }
  void signal_group(int number) const { ::kill(-pid_, number); }
  /// The processes that its first thread started and that run.
  std::vector<pid_t> children() const {
    const std::string pid = std::to_string(pid_);
    std::ifstream file("/proc/" + pid + "/task/" + pid + "/children");
    return {std::istream_iterator<pid_t>(file), std::istream_iterator<pid_t>()};
  }

  /// The wait status, as waitpid() gives it.
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }
  /// The exit status, or -N for signal N.
  int wait_status() {
    const int status = wait();
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  }
  std::string out() const { return read(directory_ / "out"); }
  std::string err() const { return read(directory_ / "err"); }
  /// Waits until the standard output holds the text.
  bool wait_for_output(const std::string& text) const {
    for (int i = 0; i < 1000; ++i) {
      if (out().find(text) != std::string::npos) {
        return true;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

 private:
  static void prepare_child(const ProgramOptions& options,
                            const std::string& out,
                            const std::string& err) {
    if (!options.directory.empty() && ::chdir(options.directory.c_str()) != 0) {
      ::_exit(98);
    }
    for (const auto& [name, value] : options.environment) {
      ::setenv(name.c_str(), value.c_str(), 1);
    }
    if (options.new_session) {
      ::setsid();
    }
    redirect(out, STDOUT_FILENO);
    redirect(err, STDERR_FILENO);
    if (options.file_size_limit) {
      const rlimit limit{*options.file_size_limit, *options.file_size_limit};
      ::setrlimit(RLIMIT_FSIZE, &limit);
    }
  }
  static void redirect(const std::string& file, int standard_fd) {
    const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (fd < 0 || ::dup2(fd, standard_fd) < 0) {
      ::_exit(97);
    }
    ::close(fd);
  }
  static std::string read(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }

  TempDir directory_;
  pid_t pid_ = -1;
};

}  // namespace joulescale::testing
