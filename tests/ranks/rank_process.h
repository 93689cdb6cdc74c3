// SPDX-License-Identifier: Apache-2.0
// Real processes for the tests of this folder: started with arguments and extra environment
// variables, their output in files, ended at the latest when the test ends.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "joulescale/base/file.h"
#include "joulescale/base/unique_fd.h"

namespace joulescale::testing {

using Variables = std::map<std::string, std::string>;

/// A file's content; empty if it cannot be read.
inline std::string text_of(const std::filesystem::path& file) {
  const auto content = read_file(file);
  return content ? *content : "";
}

class RankProcess {
 public:
  /// Output goes to `output`.out and `output`.err. Inherited descriptors stay open.
  RankProcess(const std::vector<std::string>& arguments,
              const Variables& variables,
              std::filesystem::path output)
      : output_(std::move(output)) {
    std::vector<char*> argv;
    for (const std::string& argument : arguments) {
      argv.push_back(const_cast<char*>(argument.c_str()));
    }
    argv.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that is killed leaves no process behind
      ::dup2(::open((output_.native() + ".out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644), 1);
      ::dup2(::open((output_.native() + ".err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644), 2);
      for (const auto& [name, value] : variables) {
        ::setenv(name.c_str(), value.c_str(), 1);
      }
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
  }
  RankProcess(RankProcess&& other) noexcept
      : output_(std::move(other.output_)), pid_(std::exchange(other.pid_, -1)) {}
  RankProcess& operator=(RankProcess&&) = delete;
  ~RankProcess() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }

  void send(int signal_number) const { ::kill(pid_, signal_number); }

  /// The exit status, or minus the signal that ended it; nothing if it still runs at the deadline.
  std::optional<int> wait(std::chrono::seconds limit) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (std::chrono::steady_clock::now() < deadline) {
      int status = 0;
      if (::waitpid(pid_, &status, WNOHANG) == pid_) {
        pid_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return std::nullopt;
  }

  std::string out() const { return text(".out"); }
  std::string err() const { return text(".err"); }

 private:
  std::string text(const char* suffix) const { return text_of(output_.native() + suffix); }

  std::filesystem::path output_;
  pid_t pid_ = -1;
};

/// A socket that listens on a free loopback port; not closed by exec.
struct ListeningSocket {
  UniqueFd fd;
  int port = 0;
};

inline ListeningSocket listen_on_free_port() {
  ListeningSocket result{UniqueFd(::socket(AF_INET, SOCK_STREAM, 0)), 0};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(result.fd.get(), reinterpret_cast<sockaddr*>(&address), size);
  ::listen(result.fd.get(), 64);
  ::getsockname(result.fd.get(), reinterpret_cast<sockaddr*>(&address), &size);
  result.port = ntohs(address.sin_port);
  return result;
}

inline Variables rank_variables(int rank, int world_size, int port) {
  return {{"RANK", std::to_string(rank)},
          {"WORLD_SIZE", std::to_string(world_size)},
          {"LOCAL_RANK", std::to_string(rank)},
          {"MASTER_ADDR", "127.0.0.1"},
          {"MASTER_PORT", std::to_string(port)},
          {"OMP_NUM_THREADS", "1"}};
}

/// Ranks 0 … world_size - 1 of one run. Rank 0 gets the socket by --store-listen-fd, so that runs
/// cannot take each other's ports. Rank r writes to `output`-r.out and .err.
inline std::vector<RankProcess> start_ranks(int world_size,
                                            std::vector<std::string> arguments,
                                            const std::filesystem::path& output,
                                            const Variables& more = {}) {
  const ListeningSocket socket = listen_on_free_port();
  std::vector<RankProcess> ranks;
  const std::vector<std::string> common = arguments;
  arguments.insert(arguments.end(), {"--store-listen-fd", std::to_string(socket.fd.get())});
  for (int rank = 0; rank < world_size; ++rank) {
    Variables variables = rank_variables(rank, world_size, socket.port);
    variables.insert(more.begin(), more.end());
    ranks.emplace_back(
        rank == 0 ? arguments : common, variables, output.native() + "-" + std::to_string(rank));
  }
  return ranks;
}

}  // namespace joulescale::testing
