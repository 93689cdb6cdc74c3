// SPDX-License-Identifier: Apache-2.0
#include "joulescale/parallel/liveness.h"

#include <unistd.h>

#include <chrono>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace joulescale {
namespace {

using namespace std::chrono_literals;

constexpr auto kBeatPeriod = 500ms;
/// A rank whose beat stands still this long is taken for dead: five periods.
constexpr auto kDeadAfter = 2500ms;
/// How long rank 0, which holds the store, stays for the others after it knows the cause.
constexpr auto kGrace = 4000ms;
/// The same when it tells its own failure: every rank has looked for reports by then.
constexpr auto kNoticeTime = 1200ms;
/// How long a rank may go on after a failure was reported.
constexpr auto kExitAfter = 8000ms;
constexpr const char* kFailureKey = "failure";

std::string beat_key(int rank) { return fmt::format("beat/{}", rank); }

}  // namespace

Liveness::Liveness(StorePtr store, int rank, int world_size)
    : store_(std::move(store)),
      thread_store_(store_->clone()),
      rank_(rank),
      world_size_(world_size) {
  store_->add(beat_key(rank_), 1);
  thread_ = std::thread([this] { run(); });
}

Liveness::~Liveness() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Liveness::run() {
  int periods_after_failure = 0;
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kBeatPeriod, [this] { return stopping_; })) {
    if (failure_.empty()) {
      lock.unlock();
      std::string failure = beat();
      lock.lock();
      failure_ = std::move(failure);
    } else if (++periods_after_failure * kBeatPeriod > kExitAfter) {
      const std::string line = fmt::format("joulescale-train: {}\n", failure_);
      [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
      ::_exit(1);
    }
  }
}

std::string Liveness::beat() noexcept {
  try {
    thread_store_->add(beat_key(rank_), 1);
    return first_report(*thread_store_);
  } catch (...) {
    return "rank 0, which holds the store, stopped without a message: killed or crashed";
  }
}

void Liveness::report(std::string_view message) noexcept {
  try {
    store_->compareSet(kFailureKey, std::string(), std::string(message));
    if (rank_ == 0) {
      std::this_thread::sleep_for(kNoticeTime);
    }
  } catch (...) {  // the store is gone, and with it whom to tell
  }
}

std::string Liveness::first_report(c10d::Store& store) {
  return store.check({kFailureKey}) ? store.get_to_str(kFailureKey) : std::string();
}

std::string Liveness::find_cause(std::string_view own_message) {
  if (auto reported = first_report(*store_); !reported.empty()) {
    return reported;
  }
  const auto beats = [this] {
    std::vector<std::int64_t> counts;
    for (int rank = 0; rank < world_size_; ++rank) {
      counts.push_back(store_->add(beat_key(rank), 0));
    }
    return counts;
  };
  const auto before = beats();
  std::this_thread::sleep_for(kDeadAfter);
  if (auto reported = first_report(*store_); !reported.empty()) {
    return reported;
  }
  const auto after = beats();
  std::vector<int> dead;
  for (int rank = 0; rank < world_size_; ++rank) {
    if (before[static_cast<std::size_t>(rank)] == after[static_cast<std::size_t>(rank)]) {
      dead.push_back(rank);
    }
  }
  std::string cause = dead.empty()
                          ? fmt::format("rank {}: {}", rank_, own_message)
                          : fmt::format("rank {} stopped without a message: killed or crashed",
                                        fmt::join(dead, ", "));
  store_->compareSet(kFailureKey, std::string(), cause);
  return first_report(*store_);
}

std::string Liveness::explain(std::string_view own_message) noexcept {
  std::string cause;
  try {
    cause = find_cause(own_message);
  } catch (...) {  // the store is gone; its last report may have been seen before
    std::string seen;
    {
      const std::lock_guard lock(mutex_);
      seen = failure_;
    }
    return seen.empty() ? beat() : seen;
  }
  if (rank_ == 0) {
    std::this_thread::sleep_for(kGrace);
  }
  return cause;
}

}  // namespace joulescale
