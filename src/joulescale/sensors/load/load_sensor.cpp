// SPDX-License-Identifier: Apache-2.0
#include "joulescale/sensors/load/load_sensor.h"

#include <unistd.h>

#include <array>

#include <fmt/format.h>

#include "joulescale/base/file.h"
#include "joulescale/sensors/estimate/proc_files.h"

namespace joulescale {
namespace {

constexpr std::string_view kRankPrefix = "load/rank-";
constexpr std::string_view kCpuTimeSuffix = "/cpu_time";
constexpr std::uint64_t kMicrosecondsPerSecond = 1'000'000;

std::uint64_t microseconds(std::uint64_t ticks) {
  static const auto kTicksPerSecond = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  return ticks * (kMicrosecondsPerSecond / kTicksPerSecond);
}

std::uint64_t page_bytes() {
  static const auto kPage = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return kPage;
}

}  // namespace

bool is_rank_cpu_time(std::string_view metric) {
  return metric.starts_with(kRankPrefix) && metric.ends_with(kCpuTimeSuffix);
}

LoadSensor::LoadSensor(const std::filesystem::path& root,
                       const std::optional<RankProcesses>& processes,
                       Clock& clock)
    : stat_file_(root / "proc/stat"), memory_file_(root / "proc/meminfo"), clock_(clock) {
  if (processes) {
    rank_ = processes->rank;
    tree_.emplace(root / "proc", processes->monitor, processes->except, clock);
  }
}

Result<void> LoadSensor::open() {
  close();
  if (may_read("load")) {
    if (value_of(What::kNodeCpu)) {
      add_channel(What::kNodeCpu, std::string(kNodeCpuTime));
    } else {
      notes_.push_back(fmt::format("no CPU time: '{}' cannot be read", stat_file_.native()));
    }
    if (value_of(What::kNodeMemory)) {
      add_channel(What::kNodeMemory, "load/node/memory_used");
    } else {
      notes_.push_back(
          fmt::format("no memory in use: '{}' has no MemAvailable", memory_file_.native()));
    }
  }
  if (tree_) {
    tree_use_ = tree_->read();
    if (tree_use_) {
      add_channel(What::kTreeCpu, fmt::format("{}{}{}", kRankPrefix, rank_, kCpuTimeSuffix));
      add_channel(What::kTreeMemory, fmt::format("{}{}/rss", kRankPrefix, rank_));
    } else {
      notes_.emplace_back("nothing of the command's processes: /proc/<pid>/stat cannot be read");
    }
  }
  if (!channels_.empty() || !elsewhere().empty()) {
    return {};
  }
  return Error(ErrorCode::kUnavailable, fmt::format("{}", fmt::join(notes_, "; ")));
}

void LoadSensor::add_channel(What what, const std::string& name) {
  const bool is_time = what == What::kNodeCpu || what == What::kTreeCpu;
  Channel& channel = channels_.emplace_back();
  channel.name = name;
  channel.quantity = Quantity::kMetric;
  channel.behavior = is_time ? Behavior::kCounter : Behavior::kGauge;
  channel.domain = is_time ? Domain::kCpu : Domain::kDram;
  channel.unit = is_time ? RawUnit::kMicrosecond : RawUnit::kByte;
  channel.overlap_group = name;
  what_.push_back(what);
}

std::optional<std::uint64_t> LoadSensor::value_of(What what) noexcept {
  std::array<char, 512> buffer;  // what is needed stands at the start, whatever the machine
  switch (what) {
    case What::kNodeCpu: {
      const auto times = parse_proc_stat(read_start(stat_file_.c_str(), buffer));
      return times ? std::optional(microseconds(times->busy_ticks)) : std::nullopt;
    }
    case What::kNodeMemory:
      return parse_memory_used_bytes(read_start(memory_file_.c_str(), buffer));
    case What::kTreeCpu:
      return tree_use_ ? std::optional(microseconds(tree_use_->cpu_ticks)) : std::nullopt;
    case What::kTreeMemory:
      // Without a process there is nothing whose memory could be read: no value, not 0.
      return tree_use_ && tree_use_->rss_pages > 0
                 ? std::optional(tree_use_->rss_pages * page_bytes())
                 : std::nullopt;
  }
  return std::nullopt;
}

void LoadSensor::read(std::span<RawReading> out) noexcept {
  for (std::size_t i = 0; i < channels_.size() && i < out.size(); ++i) {
    out[i] = timed_reading(clock_, [&](Nanoseconds) {
      if (what_[i] == What::kTreeCpu) {
        tree_use_ = tree_->read();
      }
      return value_of(what_[i]);
    });
  }
}

void LoadSensor::close() noexcept {
  forget_claims();
  what_.clear();
  channels_.clear();
  notes_.clear();
}

}  // namespace joulescale
