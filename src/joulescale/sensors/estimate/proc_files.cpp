// SPDX-License-Identifier: Apache-2.0
#include "joulescale/sensors/estimate/proc_files.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "joulescale/base/text.h"

namespace joulescale {
namespace {

/// Cuts the first line off `text`.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

/// Cuts the first word off `line`.
std::string_view take_word(std::string_view& line) {
  line = trim(line);
  const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end);
  return word;
}

bool is_thread_name(std::string_view word) {
  return word.size() > 3 && word.starts_with("cpu") &&
         std::isdigit(static_cast<unsigned char>(word[3])) != 0;
}

/// The amount behind a key of /proc/meminfo ("MemTotal:").
std::optional<std::uint64_t> meminfo_bytes(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (take_word(line) == key) {
      const auto kibibytes = parse_uint64(take_word(line));
      constexpr std::uint64_t kMost = ~std::uint64_t{0} / 1024;
      if (!kibibytes || *kibibytes > kMost) {
        return std::nullopt;
      }
      return *kibibytes * 1024;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<CpuTimes> parse_proc_stat(std::string_view text) {
  std::string_view line = take_line(text);
  if (take_word(line) != "cpu") {
    return std::nullopt;
  }
  // Columns: user nice system idle iowait irq softirq steal...
  constexpr std::array kBusyColumn = {true, true, true, false, false, true, true};
  CpuTimes times;
  for (const bool busy : kBusyColumn) {
    const auto ticks = parse_uint64(take_word(line));
    if (!ticks) {
      return std::nullopt;
    }
    times.busy_ticks += busy ? *ticks : 0;
  }
  while (!text.empty()) {
    line = take_line(text);
    if (!is_thread_name(take_word(line))) {
      break;
    }
    ++times.num_threads;
  }
  return times;
}

double tick_seconds(std::uint64_t ticks) {
  return static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

std::optional<std::uint64_t> parse_memory_bytes(std::string_view text) {
  return meminfo_bytes(text, "MemTotal:");
}

std::optional<std::uint64_t> parse_memory_used_bytes(std::string_view text) {
  const auto total = meminfo_bytes(text, "MemTotal:");
  const auto available = meminfo_bytes(text, "MemAvailable:");
  if (!total || !available || *available > *total) {
    return std::nullopt;
  }
  return *total - *available;
}

}  // namespace joulescale
