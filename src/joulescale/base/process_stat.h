// SPDX-License-Identifier: Apache-2.0
// The parts of /proc/<pid>/stat (proc(5)) that tell what a process is and what it uses.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace joulescale {

struct ProcessStat {
  char state = '?';  // 'Z': a zombie
  pid_t parent = 0;
  std::uint64_t own_ticks = 0;    // user and system time of all its threads, ended ones too
  std::uint64_t child_ticks = 0;  // of children that it waited for, and theirs
  std::uint64_t start_ticks = 0;  // since boot: tells apart two processes of one number
  std::uint64_t rss_pages = 0;
};

/// Nothing for a damaged text. The program's name may hold anything, parentheses too.
std::optional<ProcessStat> parse_process_stat(std::string_view text);

}  // namespace joulescale
