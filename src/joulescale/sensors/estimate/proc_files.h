// SPDX-License-Identifier: Apache-2.0
// Parsers of the parts of /proc/stat and /proc/meminfo that estimates need.
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

/// MemTotal of /proc/meminfo.
std::optional<std::uint64_t> parse_memory_bytes(std::string_view text);

}  // namespace joulescale
