// SPDX-License-Identifier: Apache-2.0
// Who is alive and who failed first, through the store. Includes torch: for .cpp files of this
// room only.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "joulescale/parallel/store.h"

namespace joulescale {

/// One thread a rank with a connection of its own. It beats (adds 1 to the rank's key) and looks
/// for a reported failure twice a second; if one is reported and this process has not ended a few
/// seconds later (it may hang in a collective), it ends the process with status 1 and one line.
class Liveness {
 public:
  Liveness(StorePtr store, int rank, int world_size);
  ~Liveness();
  Liveness(const Liveness&) = delete;
  Liveness& operator=(const Liveness&) = delete;

  /// The first report counts. Rank 0 stays a second, so that the others see it.
  void report(std::string_view message) noexcept;
  /// See Communicator::explain_failure().
  std::string explain(std::string_view own_message) noexcept;

 private:
  void run();
  /// Beats once; returns the reported failure, or that the store is gone, or "".
  std::string beat() noexcept;
  std::string find_cause(std::string_view own_message);
  std::string first_report(c10d::Store& store);

  StorePtr store_;         // for the thread that uses the communicator
  StorePtr thread_store_;  // for this object's thread
  int rank_;
  int world_size_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::string failure_;  // as the thread saw it first; guarded by mutex_
  std::thread thread_;
};

}  // namespace joulescale
