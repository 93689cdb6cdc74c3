// SPDX-License-Identifier: Apache-2.0
#include "joulescale/sweep/local/rank_launcher.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include <fmt/format.h>

#include "joulescale/base/clock.h"
#include "joulescale/base/output.h"
#include "joulescale/base/unique_fd.h"
#include "joulescale/sweep/local/child_process.h"
#include "joulescale/sweep/local/cpu_sets.h"
#include "joulescale/sweep/local/signals.h"

namespace joulescale {
namespace {

constexpr auto kFailureGrace = std::chrono::seconds(5);
constexpr auto kSignalGrace = std::chrono::seconds(30);
/// Signals that arrive together (a broadcast that is also forwarded) are one request to stop.
constexpr auto kSameRequest = std::chrono::seconds(1);

struct ListeningSocket {
  UniqueFd fd;
  std::uint16_t port = 0;
};

Result<ListeningSocket> listen_on_loopback(std::optional<std::uint16_t> port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) {
    return io_error("make", "a socket", errno);
  }
  const int yes = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port.value_or(0));
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(fd.get(), generic, size) != 0 || ::listen(fd.get(), SOMAXCONN) != 0 ||
      ::getsockname(fd.get(), generic, &size) != 0) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("cannot listen on 127.0.0.1:{}: {}; choose another --master-port, or "
                             "leave it out for a free one",
                             port.value_or(0),
                             std::strerror(errno)));
  }
  return ListeningSocket{std::move(fd), ntohs(address.sin_port)};
}

/// The ranks that run, and what is known of how they end.
class RankGroup {
 public:
  explicit RankGroup(int num_ranks) : num_ranks_(num_ranks) {}

  /// Returns the status to end with, when the ranks could not all be started.
  std::optional<int> start(const RankLaunch& launch, ListeningSocket socket);
  int wait_for_all(const SignalQueue& signals);

 private:
  void reap();
  void on_end(int rank, int wait_status);
  void on_signal(const siginfo_t& info);
  void signal_all(int signal) const;
  void stop(int signal, Nanoseconds grace);

  int num_ranks_;
  std::map<pid_t, int> running_;  // process id (and process group) to rank
  std::optional<int> first_failure_;
  std::optional<Nanoseconds> stop_requested_at_;
  std::optional<Nanoseconds> kill_at_;
};

std::optional<int> RankGroup::start(const RankLaunch& launch, ListeningSocket socket) {
  const std::vector<int> cpus = available_cpus();
  const auto cpu_sets = divide_cpus(cpus, num_ranks_);
  if (cpu_sets.front().empty()) {
    print_text(stderr,
               fmt::format(
                   "joulescale launch: {} ranks on {} cores: they share cores, no rank is pinned\n",
                   num_ranks_,
                   cpus.size()));
  }
  const std::string num_threads = std::to_string(std::max<std::size_t>(cpu_sets.front().size(), 1));
  const std::string world_size = std::to_string(num_ranks_);
  const std::string launch_id = fmt::format("{}-{}", ::getpid(), system_clock().wall_now().count());
  // Ranks lead process groups of their own: reading a terminal would stop them.
  const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!launch.pass_listen_fd) {
    socket.fd.reset();
  }
  for (int rank = 0; rank < num_ranks_; ++rank) {
    ChildOptions options;
    options.argv = launch.argv;
    options.cpus = cpu_sets.at(static_cast<std::size_t>(rank));
    options.input_fd = nothing.get();
    options.own_process_group = true;
    options.death_signal = SIGKILL;
    options.environment = {{"RANK", std::to_string(rank)},
                           {"LOCAL_RANK", std::to_string(rank)},
                           {"WORLD_SIZE", world_size},
                           {"LOCAL_WORLD_SIZE", world_size},
                           {"MASTER_ADDR", "127.0.0.1"},
                           {"MASTER_PORT", std::to_string(socket.port)},
                           {"JOULESCALE_LAUNCH_ID", launch_id},
                           {"OMP_NUM_THREADS", num_threads}};
    if (::getenv("TORCHELASTIC_RUN_ID") != nullptr) {  // of a launcher around this one
      options.environment.emplace_back("TORCHELASTIC_RUN_ID", "");
    }
    if (rank == 0 && launch.pass_listen_fd) {
      options.passed_fd = socket.fd.get();
      options.argv.push_back(fmt::format("--store-listen-fd={}", socket.fd.get()));
    }
    const auto pid = start_child(options);
    if (!pid) {
      print_text(stderr, fmt::format("joulescale launch: {}\n", pid.error().text()));
      stop_descendants(kFailureGrace);
      return pid.error().code() == ErrorCode::kUnavailable ? 127 : 126;
    }
    running_[*pid] = rank;
  }
  return std::nullopt;
}

void RankGroup::signal_all(int signal) const {
  for (const auto& [group, rank] : running_) {
    ::kill(-group, signal);
  }
}

void RankGroup::stop(int signal, Nanoseconds grace) {
  signal_all(signal);
  kill_at_ = system_clock().monotonic_now() + grace;
}

void RankGroup::on_end(int rank, int wait_status) {
  if (shell_status(wait_status) == 0 || first_failure_) {
    return;
  }
  first_failure_ = shell_status(wait_status);
  if (stop_requested_at_) {
    return;
  }
  print_text(stderr,
             fmt::format("joulescale launch: rank {} {}{}\n",
                         rank,
                         describe_wait_status(wait_status),
                         running_.empty() ? "" : "; the other ranks are stopped"));
  stop(SIGTERM, kFailureGrace);
}

void RankGroup::reap() {
  int wait_status = 0;
  pid_t pid = 0;
  while ((pid = ::waitpid(-1, &wait_status, WNOHANG)) > 0) {
    const auto found = running_.find(pid);
    if (found == running_.end()) {
      continue;  // an orphan that we adopted
    }
    const int rank = found->second;
    running_.erase(found);
    on_end(rank, wait_status);
  }
}

void RankGroup::on_signal(const siginfo_t& info) {
  const Nanoseconds now = system_clock().monotonic_now();
  if (!stop_requested_at_) {
    stop_requested_at_ = now;
    stop(info.si_signo, kSignalGrace);
  } else if (now - *stop_requested_at_ > kSameRequest) {
    kill_at_ = now;
  }
}

int RankGroup::wait_for_all(const SignalQueue& signals) {
  reap();
  while (!running_.empty()) {
    const auto info = signals.wait(kChildPoll);
    if (info && info->si_signo != SIGCHLD) {
      on_signal(*info);
    }
    reap();
    if (kill_at_ && system_clock().monotonic_now() >= *kill_at_) {
      signal_all(SIGKILL);
    }
  }
  stop_descendants(kFailureGrace);
  return first_failure_.value_or(0);
}

}  // namespace

int launch_ranks(const RankLaunch& launch) {
  const SignalQueue signals;
  if (launch.end_with_parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  }
  adopt_orphans();
  auto socket = listen_on_loopback(launch.master_port);
  if (!socket) {
    print_text(stderr, fmt::format("joulescale launch: {}\n", socket.error().text()));
    return exit_status_of(socket.error());
  }
  RankGroup group(launch.num_ranks);
  if (const auto status = group.start(launch, std::move(socket).value())) {
    return *status;
  }
  return group.wait_for_all(signals);
}

}  // namespace joulescale
