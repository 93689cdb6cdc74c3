// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/say.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>

#include <fmt/format.h>

#include "joulescale/monitor/signals.h"

namespace joulescale {
namespace {

constexpr int kLookAgainMs = 100;
constexpr int kMostLooks = 100;

bool takes_text(int timeout_ms) {
  pollfd stream{STDERR_FILENO, POLLOUT, 0};
  return ::poll(&stream, 1, timeout_ms) > 0;
}

/// Whether standard error takes text again before patience ends.
bool wait_for_reader(std::atomic<bool>& gave_up) {
  if (takes_text(0)) {
    gave_up = false;
    return true;
  }
  for (int look = 0; look < kMostLooks && !gave_up && !is_end_pending(); ++look) {
    if (takes_text(kLookAgainMs)) {
      return true;
    }
  }
  gave_up = true;
  return false;
}

}  // namespace

void tell(std::string_view text) {
  static std::atomic<bool> gave_up = false;
  while (!text.empty() && wait_for_reader(gave_up)) {
    // A pipe that takes text has room for so much.
    const ssize_t written =
        ::write(STDERR_FILENO, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
    if (written < 0 && errno != EINTR && errno != EAGAIN) {
      return;
    }
    text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
  }
}

void say(const std::string& line) { tell(fmt::format("joulescale monitor: {}\n", line)); }

}  // namespace joulescale
