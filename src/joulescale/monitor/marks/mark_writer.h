// SPDX-License-Identifier: Apache-2.0
// The region API: what a measured process tells the monitor. Marks go to a file of the process's
// own below $JOULESCALE_RUN; outside a monitored run every call does nothing.
//
// Frames (base/frame_log.h, magic kMarksMagic); times are CLOCK_MONOTONIC nanoseconds:
//   kProcess   u32 pid, i64 start time
//   kRank      u32 rank, u32 world size, text device kind ("cpu_rank", "gpu"), text UUID or ""
//   kName      u32 id, text name: introduces a region
//   kBegin     u32 region id, i64 time
//   kEnd       u32 region id, i64 time
//   kCounter   u8 counter, u64 increment, i64 time
//   kTraining  text: a JSON object with keys of run.json's `training`; later frames replace keys
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "joulescale/base/clock.h"
#include "joulescale/base/error.h"
#include "joulescale/base/frame_log.h"

namespace joulescale {

inline constexpr std::string_view kMarksMagic = "JSMARKS1";
/// The environment variable that names the directory of marks files.
inline constexpr const char* kRunVariable = "JOULESCALE_RUN";
inline constexpr std::string_view kMarksSuffix = ".marks";

enum class MarkType : std::uint8_t {
  kProcess = 1,
  kRank = 2,
  kName = 3,
  kBegin = 4,
  kEnd = 5,
  kCounter = 6,
  kTraining = 7,
};

enum class MarkCounter : std::uint8_t { kSamples = 1, kUpdates = 2 };

using RegionId = std::uint32_t;

/// Not thread safe: one writer a thread. Marks reach the kernel when the buffer is full, every
/// second at the latest while marks are written, on flush() and on destruction. An error (full
/// disk) ends the marks of this process, never the process.
class MarkWriter {
 public:
  /// The writer of $JOULESCALE_RUN; without that variable, or when the file cannot be made, one
  /// that does nothing.
  static MarkWriter from_environment(const Clock& clock = system_clock());
  /// The same for a given directory.
  static Result<MarkWriter> create(const std::filesystem::path& directory,
                                   const Clock& clock = system_clock());
  /// Does nothing.
  MarkWriter() = default;

  MarkWriter(MarkWriter&&) = default;
  MarkWriter& operator=(MarkWriter&&) = default;
  ~MarkWriter();

  bool active() const { return log_.has_value(); }

  /// device_kind: "cpu_rank" or "gpu"; device_uuid: NVML's UUID, or "".
  void register_rank(int rank,
                     int world_size,
                     std::string_view device_kind,
                     std::string_view device_uuid);
  /// The id of a region name; the same for the same name.
  RegionId region(std::string_view name);
  void begin(RegionId region);
  void end(RegionId region);
  void add(MarkCounter counter, std::uint64_t increment);
  /// `json`: an object with keys of run.json's `training` (record/run_json.h formats one).
  void set_training(std::string_view json);
  void flush();

 private:
  MarkWriter(FrameWriter log, const Clock& clock);
  void append(MarkType type, const PayloadWriter& payload);

  std::optional<FrameWriter> log_;
  const Clock* clock_ = nullptr;
  Nanoseconds last_flush_{0};
  std::map<std::string, RegionId, std::less<>> regions_;
};

/// Marks the time from construction to destruction as one visit of a region.
class ScopedRegion {
 public:
  ScopedRegion(MarkWriter& marks, RegionId region) : marks_(marks), region_(region) {
    marks_.begin(region_);
  }
  ~ScopedRegion() { marks_.end(region_); }
  ScopedRegion(const ScopedRegion&) = delete;
  ScopedRegion& operator=(const ScopedRegion&) = delete;

 private:
  MarkWriter& marks_;
  RegionId region_;
};

}  // namespace joulescale
