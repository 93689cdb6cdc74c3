// SPDX-License-Identifier: Apache-2.0
#include "joulescale/sweep/local/child_process.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>

#include <fmt/format.h>

#include "joulescale/base/file.h"
#include "joulescale/base/process_stat.h"
#include "joulescale/base/text.h"
#include "joulescale/base/unique_fd.h"

namespace joulescale {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxCapturedBytes = std::size_t{64} << 10;
constexpr auto kPoll = std::chrono::milliseconds(20);

struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> fds{};
  if (::pipe2(fds.data(), O_CLOEXEC) != 0) {
    return io_error("make", "a pipe", errno);
  }
  return Pipe{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

/// Puts `fd` in the place of one of the standard streams.
bool redirect(int fd, int standard_fd) { return fd < 0 || ::dup2(fd, standard_fd) >= 0; }

void pin_to(const std::vector<int>& cpus) {
  if (cpus.empty()) {
    return;
  }
  const auto count = static_cast<std::size_t>(cpus.back()) + 1;
  cpu_set_t* set = CPU_ALLOC(count);
  const std::size_t size = CPU_ALLOC_SIZE(count);
  CPU_ZERO_S(size, set);
  for (const int cpu : cpus) {
    CPU_SET_S(static_cast<std::size_t>(cpu), size, set);
  }
  ::sched_setaffinity(0, size, set);  // a cpu gone since is no reason not to run
  CPU_FREE(set);
}

/// In the child: everything between fork and exec. Returns only on failure, with errno set.
void become(const ChildOptions& options, pid_t parent, char* const* argv) {
  if (options.death_signal != 0) {
    ::prctl(PR_SET_PDEATHSIG, options.death_signal);
    if (::getppid() != parent) {
      ::_exit(128 + options.death_signal);  // the parent died before prctl
    }
  }
  if (options.own_process_group) {
    ::setpgid(0, 0);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  pin_to(options.cpus);
  if (options.passed_fd >= 0) {
    ::fcntl(options.passed_fd, F_SETFD, 0);
  }
  for (const auto& [name, value] : options.environment) {
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  if (!options.working_directory.empty() && ::chdir(options.working_directory.c_str()) != 0) {
    return;
  }
  if (redirect(options.input_fd, STDIN_FILENO) && redirect(options.output_fd, STDOUT_FILENO) &&
      redirect(options.error_fd, STDERR_FILENO)) {
    ::execvp(argv[0], argv);
  }
}

Error start_error(const std::string& program, int error_number) {
  const bool missing = error_number == ENOENT || error_number == ENOTDIR;
  const bool forbidden = error_number == EACCES || error_number == ENOEXEC;
  const ErrorCode code = missing     ? ErrorCode::kUnavailable
                         : forbidden ? ErrorCode::kPermission
                                     : ErrorCode::kIo;
  return {code, fmt::format("cannot start '{}': {}", program, std::strerror(error_number))};
}

/// Parents of all processes that are not zombies.
std::map<pid_t, pid_t> parents_of_processes() {
  std::map<pid_t, pid_t> parents;
  std::error_code code;
  for (fs::directory_iterator entry("/proc", code), end; !code && entry != end;
       entry.increment(code)) {
    const auto pid = parse_int64(entry->path().filename().native());
    const auto text = pid ? read_file(entry->path() / "stat") : Result<std::string>(std::string());
    const auto stat = text ? parse_process_stat(*text) : std::nullopt;
    if (pid && stat && stat->state != 'Z') {
      parents[static_cast<pid_t>(*pid)] = stat->parent;
    }
  }
  return parents;
}

std::vector<pid_t> descendants() {
  const std::map<pid_t, pid_t> parents = parents_of_processes();
  std::vector<pid_t> found;
  const pid_t self = ::getpid();
  for (const auto& [pid, parent] : parents) {
    pid_t ancestor = parent;
    for (std::size_t depth = 0; ancestor > 1 && depth < parents.size(); ++depth) {
      if (ancestor == self) {
        found.push_back(pid);
        break;
      }
      const auto next = parents.find(ancestor);
      ancestor = next == parents.end() ? 0 : next->second;
    }
  }
  return found;
}

void reap_children() {
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

/// Reads until the end of the pipe; only the first kMaxCapturedBytes are kept.
std::string read_to_end(int fd) {
  std::string text;
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      return text;
    }
    const std::size_t room = kMaxCapturedBytes - text.size();
    text.append(buffer.data(), std::min(room, static_cast<std::size_t>(count)));
  }
}

}  // namespace

Result<pid_t> start_child(const ChildOptions& options) {
  JOULESCALE_CHECK(!options.argv.empty());
  std::vector<std::string> arguments = options.argv;
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) {
    argv.push_back(argument.data());
  }
  argv.push_back(nullptr);
  JOULESCALE_TRY_ASSIGN(Pipe failure, make_pipe());
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) {
    return io_error("start", options.argv[0], errno);
  }
  if (pid == 0) {
    become(options, parent, argv.data());
    const int error_number = errno;
    (void)!::write(failure.write_end.get(), &error_number, sizeof error_number);
    ::_exit(127);
  }
  if (options.own_process_group) {
    ::setpgid(pid, pid);  // in both processes: whoever comes first
  }
  failure.write_end.reset();
  const std::string report = read_to_end(failure.read_end.get());
  int error_number = 0;
  if (report.size() == sizeof error_number) {
    std::memcpy(&error_number, report.data(), sizeof error_number);
    ::waitpid(pid, nullptr, 0);
    return start_error(options.argv[0], error_number);
  }
  return pid;
}

int shell_status(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

std::string describe_wait_status(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    const int signal = WTERMSIG(wait_status);
    return fmt::format("was killed by signal {} ({})", signal, ::strsignal(signal));
  }
  return fmt::format("ended with status {}", WEXITSTATUS(wait_status));
}

void adopt_orphans() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }

void kill_descendants() {
  for (const pid_t pid : descendants()) {
    ::kill(pid, SIGKILL);
  }
}

void stop_descendants(Nanoseconds grace) {
  reap_children();
  std::vector<pid_t> left = descendants();
  for (const pid_t pid : left) {
    ::kill(pid, SIGTERM);
  }
  const Nanoseconds deadline = system_clock().monotonic_now() + grace;
  while (!left.empty()) {
    if (system_clock().monotonic_now() >= deadline) {
      kill_descendants();
    }
    system_clock().sleep_until(system_clock().monotonic_now() + kPoll);
    reap_children();
    left = descendants();
  }
}

Result<CapturedRun> run_and_capture_errors(const std::vector<std::string>& argv,
                                           const fs::path& working_directory) {
  const UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  JOULESCALE_TRY_ASSIGN(Pipe errors, make_pipe());
  ChildOptions options;
  options.argv = argv;
  options.working_directory = working_directory;
  options.input_fd = nothing.get();
  options.output_fd = nothing.get();
  options.error_fd = errors.write_end.get();
  options.death_signal = SIGKILL;
  JOULESCALE_TRY_ASSIGN(const pid_t pid, start_child(options));
  errors.write_end.reset();
  CapturedRun run;
  run.output = read_to_end(errors.read_end.get());
  int wait_status = 0;
  while (::waitpid(pid, &wait_status, 0) < 0 && errno == EINTR) {
  }
  run.status = shell_status(wait_status);
  return run;
}

}  // namespace joulescale
