// SPDX-License-Identifier: Apache-2.0
// What the monitor of one rank tells of itself: ranks/<rank>.json, empty when the rank is claimed,
// filled in at the start, complete at the end. From these, the journals and the marks anyone can
// write the node's report again.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "joulescale/base/clock.h"
#include "joulescale/base/error.h"
#include "joulescale/monitor/node_report.h"
#include "joulescale/monitor/process_identity.h"

namespace joulescale {

inline constexpr std::string_view kRankSchema = "joulescale.rank/1";

struct RankRecordFile {
  int rank = 0;
  std::string node_directory;  // the name below nodes/
  ProcessIdentity monitor;
  std::optional<ProcessIdentity> command;  // told within a second of its start
  /// When its monitor began to watch the idle node (CLOCK_MONOTONIC), and how busy the node's
  /// hardware threads were from then to the command's start, 0 to 1. Told just before that start.
  std::optional<Nanoseconds> baseline_began;
  std::optional<double> baseline_cpu_busy;
  /// The command's own times, CLOCK_MONOTONIC of the node. `ended` absent: it runs, or its monitor
  /// was killed.
  std::optional<Nanoseconds> began;
  std::optional<Nanoseconds> ended;
  /// identity; of `part`: host, the rank's own entry in `ranks`, hardware, overhead, flags, GPUs.
  NodeReport facts;
};

/// Whether each has its end.
bool all_ended(std::span<const RankRecordFile> ranks);

std::string format_rank_record(const RankRecordFile& record);
/// Errors (kCorruptData) name the key.
Result<RankRecordFile> parse_rank_record(std::string_view text);

}  // namespace joulescale
