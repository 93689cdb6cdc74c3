// SPDX-License-Identifier: Apache-2.0
// Parsers of the parts of /proc/stat and /proc/meminfo that estimates and metrics need.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace joulescale {

struct CpuTimes {
  std::uint64_t busy_ticks = 0;  // user, nice, system, irq, softirq; guests are inside user
  int num_threads = 0;           // lines cpu0, cpu1...; 0 when the text ends before them
};

/// From the text of /proc/stat (proc(5)); nothing if the line "cpu" is damaged.
std::optional<CpuTimes> parse_proc_stat(std::string_view text);

/// Of a number of the kernel's clock ticks.
double tick_seconds(std::uint64_t ticks);

/// MemTotal of /proc/meminfo.
std::optional<std::uint64_t> parse_memory_bytes(std::string_view text);
/// MemTotal - MemAvailable of /proc/meminfo: what is in use and cannot be had by freeing caches.
std::optional<std::uint64_t> parse_memory_used_bytes(std::string_view text);

}  // namespace joulescale
