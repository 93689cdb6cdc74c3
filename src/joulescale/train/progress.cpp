// SPDX-License-Identifier: Apache-2.0
#include "joulescale/train/progress.h"

#include <chrono>
#include <cstddef>
#include <cstdio>

#include <fmt/format.h>

#include "joulescale/base/output.h"

namespace joulescale {
namespace {

using namespace std::chrono_literals;

constexpr Nanoseconds kTerminalPeriod = 200ms;
constexpr Nanoseconds kLogPeriod = 5s;
constexpr std::size_t kBarWidth = 24;

/// "42 s", "3 min 05 s", "2 h 10 min".
std::string duration_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds + 0.5);
  if (whole < 60) {
    return fmt::format("{} s", whole);
  }
  if (whole < 3600) {
    return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  }
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace

TrainingProgress::TrainingProgress(std::int64_t total,
                                   bool visible,
                                   bool terminal,
                                   const Clock& clock)
    : total_(total),
      visible_(visible),
      terminal_(terminal),
      clock_(&clock),
      start_(clock.monotonic_now()),
      next_(start_ + (terminal ? kTerminalPeriod : kLogPeriod)) {}

TrainingProgress::~TrainingProgress() {
  if (bar_open_) {
    print_text(stderr, "\n");
  }
}

void TrainingProgress::update(std::int64_t done, std::int64_t samples, double loss) {
  if (!visible_) {
    return;
  }
  const Nanoseconds now = clock_->monotonic_now();
  const bool last = done == total_;
  if (now < next_ && !last) {
    return;
  }
  next_ = now + (terminal_ ? kTerminalPeriod : kLogPeriod);
  const std::string text = line(done, total_, samples, loss, now - start_);
  if (!terminal_) {
    print_text(stderr, fmt::format("{}\n", text));
    return;
  }
  const auto filled = kBarWidth * static_cast<std::size_t>(done) / static_cast<std::size_t>(total_);
  print_text(stderr,
             fmt::format("\r\033[K[{}{}] {}",
                         std::string(filled, '#'),
                         std::string(kBarWidth - filled, '.'),
                         text));
  std::fflush(stderr);
  bar_open_ = true;
}

std::string TrainingProgress::line(
    std::int64_t done, std::int64_t total, std::int64_t samples, double loss, Nanoseconds elapsed) {
  const double seconds = to_seconds(elapsed).value();
  const double per_update = seconds / static_cast<double>(done);
  return fmt::format("update {}/{}  {} %  {:.0f} images/s  loss {:.3f}  {} left",
                     done,
                     total,
                     100 * done / total,
                     seconds > 0.0 ? static_cast<double>(samples) / seconds : 0.0,
                     loss,
                     duration_text(per_update * static_cast<double>(total - done)));
}

}  // namespace joulescale
