// SPDX-License-Identifier: Apache-2.0
// How busy the node and the command are: CPU time (/proc/stat; the process tree's /proc/<pid>/stat)
// and memory. Counters of CPU time have the kernel's ticks, usually 10 ms. One process of a launch
// reads the node ("load/node/..."), each its own command's processes ("load/rank-N/...").
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "joulescale/sensors/load/process_tree.h"
#include "joulescale/sensors/sensor.h"

namespace joulescale {

inline constexpr std::string_view kNodeCpuTime = "load/node/cpu_time";
/// Whether the metric is the CPU time of one rank's processes.
bool is_rank_cpu_time(std::string_view metric);

/// The processes of one rank: the descendants of `monitor` but for `except` (0: none).
struct RankProcesses {
  int rank = 0;
  pid_t monitor = 0;
  pid_t except = 0;
};

class LoadSensor final : public Sensor {
 public:
  /// `root` stands for "/". Without `processes` only the node is read.
  LoadSensor(const std::filesystem::path& root,
             const std::optional<RankProcesses>& processes,
             Clock& clock);

  std::string_view name() const override { return "load"; }
  Result<void> open() override;
  std::span<const Channel> channels() const override { return channels_; }
  std::span<const std::string> notes() const override { return notes_; }
  Nanoseconds min_read_period() const override { return std::chrono::seconds(1); }
  bool only_metrics() const override { return true; }
  void read(std::span<RawReading> out) noexcept override;
  void close() noexcept override;

 private:
  enum class What { kNodeCpu, kNodeMemory, kTreeCpu, kTreeMemory };

  void add_channel(What what, const std::string& name);
  std::optional<std::uint64_t> value_of(What what) noexcept;

  std::filesystem::path stat_file_;
  std::filesystem::path memory_file_;
  int rank_ = 0;
  /// Outlives close(): its CPU time goes on where it was.
  std::optional<ProcessTree> tree_;
  std::optional<TreeUse> tree_use_;  // of the reading in progress
  Clock& clock_;
  std::vector<What> what_;  // each channel gives
  std::vector<Channel> channels_;
  std::vector<std::string> notes_;
};

}  // namespace joulescale
