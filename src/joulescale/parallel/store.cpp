// SPDX-License-Identifier: Apache-2.0
#include "joulescale/parallel/store.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "joulescale/base/unique_fd.h"

namespace joulescale {
namespace {

constexpr int kListenBacklog = 1024;
constexpr std::chrono::seconds kTimeToAnswer{2};  // beyond the limit that the user set

std::string rank_key(int rank) { return fmt::format("rank/{}", rank); }

Error cannot_listen(const RankEnvironment& ranks, int error_number) {
  if (error_number == EADDRINUSE) {
    return {ErrorCode::kInvalidArgument,
            fmt::format("port {} is taken by another process (set MASTER_PORT to a free one)",
                        ranks.master_port)};
  }
  return io_error("listen on", fmt::format("port {}", ranks.master_port), error_number);
}

/// Listens on the loopback interface only if that is where the ranks meet, else on all of them.
Result<UniqueFd> listen_at(const RankEnvironment& ranks) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(ranks.master_port);
  address.sin_addr.s_addr = htonl(is_loopback(ranks.master_address) ? INADDR_LOOPBACK : INADDR_ANY);
  if (!fd.valid() || ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(fd.get(), kListenBacklog) != 0) {
    return cannot_listen(ranks, errno);
  }
  return fd;
}

Result<void> check_listen_fd(int fd, const RankEnvironment& ranks) {
  int listening = 0;
  socklen_t size = sizeof listening;
  sockaddr_storage address{};
  socklen_t address_size = sizeof address;
  if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) != 0 || listening == 0 ||
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &address_size) != 0) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("--store-listen-fd {}: not a socket that listens", fd));
  }
  const in_port_t network_port = address.ss_family == AF_INET6
                                     ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                                     : reinterpret_cast<sockaddr_in*>(&address)->sin_port;
  if (ntohs(network_port) != ranks.master_port) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("--store-listen-fd {}: listens on port {}, but MASTER_PORT is {}",
                             fd,
                             ntohs(network_port),
                             ranks.master_port));
  }
  return {};
}

/// Loopback names may resolve to ::1 first, where rank 0 does not listen.
std::string connect_address(const RankEnvironment& ranks) {
  return is_loopback(ranks.master_address) ? "127.0.0.1" : ranks.master_address;
}

/// Makes the store on a thread of its own: torch waits for ever for an answer from a program that
/// accepts connections and says nothing. Such a thread is left behind.
std::future<StorePtr> make_store(const std::string& address, const c10d::TCPStoreOptions& options) {
  auto promise = std::make_shared<std::promise<StorePtr>>();
  auto store = promise->get_future();
  std::thread([promise, address, options] {
    try {
      promise->set_value(c10::make_intrusive<c10d::TCPStore>(address, options));
    } catch (...) {
      promise->set_exception(std::current_exception());
    }
  }).detach();
  return store;
}

Result<StorePtr> connect(const RankEnvironment& ranks,
                         std::optional<int> listen_fd,
                         std::chrono::milliseconds timeout) {
  c10d::TCPStoreOptions options;
  options.port = ranks.master_port;
  options.numWorkers = static_cast<std::size_t>(ranks.world_size);
  options.waitWorkers = false;
  options.timeout = timeout;
  options.isServer = ranks.rank == 0 && !ranks.store_is_served;
  UniqueFd own_socket;
  if (options.isServer && listen_fd) {
    JOULESCALE_TRY(check_listen_fd(*listen_fd, ranks));
    options.masterListenFd = listen_fd;
  } else if (options.isServer) {
    JOULESCALE_TRY_ASSIGN(own_socket, listen_at(ranks));
    options.masterListenFd = own_socket.get();
  }
  auto made = make_store(connect_address(ranks), options);
  if (made.wait_for(timeout + kTimeToAnswer) != std::future_status::ready) {
    own_socket.release();
    return Error(
        ErrorCode::kTimeout,
        fmt::format("whoever listens at {} port {} does not answer as rank 0 does: another "
                    "program uses that port",
                    ranks.master_address,
                    ranks.master_port));
  }
  try {
    StorePtr store = made.get();
    own_socket.release();  // the store closes it
    if (!ranks.store_prefix.empty()) {
      store = c10::make_intrusive<c10d::PrefixStore>(ranks.store_prefix, std::move(store));
    }
    return store;
  } catch (const std::exception& exception) {
    own_socket.release();
    return Error(ErrorCode::kTimeout,
                 fmt::format("rank {} cannot reach rank 0 at {} port {} within {} s: {}",
                             ranks.rank,
                             ranks.master_address,
                             ranks.master_port,
                             std::chrono::duration_cast<std::chrono::seconds>(timeout).count(),
                             short_message(exception)));
  }
}

Result<void> wait_for_ranks(c10d::Store& store,
                            const RankEnvironment& ranks,
                            std::chrono::milliseconds timeout) {
  if (store.add(rank_key(ranks.rank), 1) != 1) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("rank {} has already come to {} port {}: another run uses that port",
                             ranks.rank,
                             ranks.master_address,
                             ranks.master_port));
  }
  std::vector<std::string> keys;
  for (int rank = 0; rank < ranks.world_size; ++rank) {
    keys.push_back(rank_key(rank));
  }
  try {
    store.wait(keys, timeout);
    return {};
  } catch (const std::exception&) {
    std::vector<int> missing;
    for (int rank = 0; rank < ranks.world_size; ++rank) {
      if (!store.check({rank_key(rank)})) {
        missing.push_back(rank);
      }
    }
    return Error(ErrorCode::kTimeout,
                 fmt::format("rank {} did not come to {} port {} within {} s (--timeout-s)",
                             fmt::join(missing, ", "),
                             ranks.master_address,
                             ranks.master_port,
                             std::chrono::duration_cast<std::chrono::seconds>(timeout).count()));
  }
}

}  // namespace

Result<StorePtr> open_store(const RankEnvironment& ranks,
                            std::optional<int> listen_fd,
                            std::chrono::milliseconds timeout) {
  JOULESCALE_TRY_ASSIGN(StorePtr store, connect(ranks, listen_fd, timeout));
  try {
    JOULESCALE_TRY(wait_for_ranks(*store, ranks, timeout));
  } catch (const std::exception& exception) {
    return Error(
        ErrorCode::kUnavailable,
        fmt::format(
            "rank {}: the store of rank 0 is gone: {}", ranks.rank, short_message(exception)));
  }
  return store;
}

std::string short_message(const std::exception& exception) {
  std::string_view text = exception.what();
  text = text.substr(0, text.find('\n'));
  // "[/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection closed by peer …"
  if (const auto end = text.find("] "); text.starts_with('[') && end != std::string_view::npos) {
    text.remove_prefix(end + 2);
  }
  return std::string(text);
}

}  // namespace joulescale
