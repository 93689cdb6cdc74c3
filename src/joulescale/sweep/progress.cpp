// SPDX-License-Identifier: Apache-2.0
#include "joulescale/sweep/progress.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "joulescale/base/output.h"

namespace joulescale {
namespace {

constexpr std::size_t kBarWidth = 20;

double weight_of(const Configuration& configuration) {
  return 1.0 / static_cast<double>(configuration.devices);
}

std::string left_text(std::optional<Seconds> left) {
  return left ? fmt::format(", about {} left", format_duration(*left)) : "";
}

}  // namespace

void TimeEstimate::add(const Configuration& configuration, Seconds duration) {
  Sum& sum = by_configuration_[configuration];
  sum.seconds += duration.value();
  ++sum.count;
  total_seconds_ += duration.value();
  total_weight_ += weight_of(configuration);
}

std::optional<Seconds> TimeEstimate::of(const Configuration& configuration) const {
  const auto same = by_configuration_.find(configuration);
  if (same != by_configuration_.end()) {
    return Seconds(same->second.seconds / same->second.count);
  }
  if (total_weight_ == 0.0) {
    return std::nullopt;
  }
  return Seconds(total_seconds_ / total_weight_ * weight_of(configuration));
}

std::string format_duration(Seconds duration) {
  const auto seconds = std::llround(std::max(duration.value(), 0.0));
  if (seconds < 3600) {
    return fmt::format("{}:{:02}", seconds / 60, seconds % 60);
  }
  return fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

Progress::Progress(std::FILE* out, bool terminal, std::size_t total)
    : out_(out), terminal_(terminal), total_(total), started_(system_clock().monotonic_now()) {}

void Progress::begin_run(const std::string& name, int attempt, std::size_t position) {
  position_ = position;
  name_ = attempt > 1 ? fmt::format("{} (attempt {})", name, attempt) : name;
  run_started_ = system_clock().monotonic_now();
  if (!terminal_) {
    say(fmt::format("{}/{} {}: started", position_, total_, name_));
  }
}

Seconds Progress::elapsed_of_run() const {
  return to_seconds(system_clock().monotonic_now() - run_started_);
}

void Progress::tick(std::optional<Seconds> left) {
  if (!terminal_ || out_ == nullptr) {
    return;
  }
  const std::size_t filled = total_ == 0 ? kBarWidth : (position_ - 1) * kBarWidth / total_;
  print_text(out_,
             fmt::format("\r\033[K[{}{}] {}/{} {}  {}{}",
                         std::string(filled, '#'),
                         std::string(kBarWidth - filled, '-'),
                         position_,
                         total_,
                         name_,
                         format_duration(to_seconds(system_clock().monotonic_now() - started_)),
                         left_text(left)));
  std::fflush(out_);
}

void Progress::end_run(const std::string& detail, std::optional<Seconds> left) {
  const std::string took = format_duration(elapsed_of_run());
  if (detail.empty()) {
    say(fmt::format("{}/{} {}: done in {}{}", position_, total_, name_, took, left_text(left)));
  } else {
    say(fmt::format("{}/{} {}: failed after {}: {}", position_, total_, name_, took, detail));
  }
}

void Progress::say(const std::string& line) {
  if (out_ == nullptr) {
    return;
  }
  clear_line();
  print_text(out_, fmt::format("joulescale sweep: {}\n", line));
  std::fflush(out_);
}

void Progress::clear_line() {
  if (terminal_) {
    print_text(out_, "\r\033[K");
  }
}

}  // namespace joulescale
