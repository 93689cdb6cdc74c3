// SPDX-License-Identifier: Apache-2.0
// What a process and its descendants use together: those that live, and those that have ended and
// were waited for. Found through /proc/<pid>/task/<tid>/children where the kernel has it, else by
// going through all of /proc.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "joulescale/base/clock.h"
#include "joulescale/base/process_stat.h"

namespace joulescale {

struct TreeUse {
  std::uint64_t cpu_ticks = 0;  // never falls from one reading to the next
  std::uint64_t rss_pages = 0;  // summed: pages that processes share count in each
};

/// Not thread safe.
class ProcessTree {
 public:
  /// The descendants of `root`, which is not counted itself, without `except` (0: none). `proc`:
  /// "/proc".
  ProcessTree(std::filesystem::path proc, pid_t root, pid_t except, Clock& clock);

  /// Nothing if the root cannot be read. A process that ended unseen between its parent's wait and
  /// our reading is in the parent's time; children that nobody waits for (SIGCHLD ignored) are lost
  /// when they end. Does not allocate.
  std::optional<TreeUse> read() noexcept;

 private:
  struct Member {
    pid_t pid = 0;
    std::uint64_t start_ticks = 0;
  };
  struct Relation {
    pid_t pid = 0;
    pid_t parent = 0;
  };

  std::optional<ProcessStat> stat_of(pid_t pid) const noexcept;
  void find_members() noexcept;
  void add_children_of(pid_t pid) noexcept;
  void add_children_listed_in(const char* file) noexcept;
  void scan_processes() noexcept;
  void add_member(pid_t pid) noexcept;

  std::filesystem::path proc_;
  pid_t root_;
  pid_t except_;
  Clock& clock_;
  bool lists_children_;
  std::vector<Member> members_;      // parents before their children
  std::vector<Relation> relations_;  // all processes, for the scan
  Nanoseconds next_search_{0};
  std::uint64_t highest_ticks_ = 0;
};

}  // namespace joulescale
