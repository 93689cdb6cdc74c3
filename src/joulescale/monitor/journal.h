// SPDX-License-Identifier: Apache-2.0
// nodes/<node>/journal: every reading of a node, append-only, so that a killed monitor loses at
// most the last second. Frames (base/frame_log.h, magic kJournalMagic); times are CLOCK_MONOTONIC
// nanoseconds, offsets are to be added to them:
//   kStart     i64 monotonic time, i64 wall offset, i64 boot-time offset
//   kSensor    u32 sensor, i64 sample period, u32 channels, then for each: text name, u8 quantity,
//              u8 behavior, text domain, u8 raw unit, text overlap group, u8 has range, u64 range,
//              i64 update period or -1, u64 plausible power in mW, text provenance, text accuracy,
//              u32 inputs, then (text name, text value) for each
//   kReadings  u32 sensor, then for each channel: u8 status, u64 raw, i64 before, i64 after
//   kMissed    u32 sensor, u64 readings that were due and not made
//   kBegin     i64 time at which the command was started
//   kEnd       i64 time at which it ended, u8 1 for a signal, u32 exit status or signal
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "joulescale/base/error.h"
#include "joulescale/base/frame_log.h"
#include "joulescale/sensors/sensor.h"

namespace joulescale {

inline constexpr std::string_view kJournalMagic = "JSJRNL01";

enum class JournalType : std::uint8_t {
  kStart = 1,
  kSensor = 2,
  kReadings = 3,
  kMissed = 4,
  kBegin = 5,
  kEnd = 6,
};

/// Not thread safe.
class JournalWriter {
 public:
  static Result<JournalWriter> create(const std::filesystem::path& file);

  Result<void> start(Nanoseconds monotonic, Nanoseconds wall_offset, Nanoseconds boot_offset);
  Result<void> sensor(std::size_t number,
                      Nanoseconds sample_period,
                      std::span<const Channel> channels);
  Result<void> readings(std::size_t sensor, std::span<const RawReading> readings);
  Result<void> missed(std::size_t sensor, std::uint64_t count);
  Result<void> begin(Nanoseconds time);
  Result<void> end(Nanoseconds time, bool by_signal, int status);
  Result<void> sync() { return log_.sync(); }

 private:
  explicit JournalWriter(FrameWriter log) : log_(std::move(log)) {}
  Result<void> append(JournalType type);

  FrameWriter log_;
  PayloadWriter payload_;
};

/// Called for each frame, in the order of the file.
class JournalVisitor {
 public:
  virtual ~JournalVisitor() = default;
  virtual void on_sensor(std::size_t number,
                         Nanoseconds sample_period,
                         const std::vector<Channel>& channels) = 0;
  virtual void on_readings(std::size_t sensor, const std::vector<RawReading>& readings) = 0;
  virtual void on_missed(std::size_t sensor, std::uint64_t count) = 0;
  virtual void on_begin(Nanoseconds time) = 0;
  virtual void on_end(Nanoseconds time, bool by_signal, int status) = 0;
};

/// Visits all whole frames; frames with a damaged content are left out. Returns the torn bytes.
Result<std::size_t> read_journal(const std::filesystem::path& file, JournalVisitor& visitor);

}  // namespace joulescale
