// SPDX-License-Identifier: Apache-2.0
// nodes/<node>/journal: every reading of a node, append-only, so that a killed monitor loses at
// most the last second. Frames (base/frame_log.h, magic kJournalMagic); times are CLOCK_MONOTONIC
// nanoseconds, offsets are to be added to them:
//   kStart     i64 monotonic time, i64 wall offset, i64 boot-time offset
//   kSensor    u32 sensor, i64 sample period, u32 channels, then for each: text name, u8 quantity,
//              u8 behavior, text domain, u8 raw unit, text overlap group, u8 has range, u64 range,
//              i64 update period or -1, i64 averaging, u64 plausible power in mW, text provenance,
//              text accuracy, u32 inputs, then (text name, text value) for each
//   kReadings  a block of rows of one sensor, about a second's: u32 sensor, then for each row u8 1
//              if some channel has no value, and for each channel (u8 status, only if so), zigzag
//              raw, zigzag before, varint after - before. Times are in units of 128 ns, rounded
//              down. Raw is the difference from the channel's last row, before the difference from
//              the preceding channel's after (of the first channel: from its last row's before);
//              what precedes the block counts as 0.
//   kMissed    u32 sensor, u64 readings that were due and not made
//   kSnapshot  u32 sensor, then for each of its channels where its account stands after all rows so
//              far (account_state.h)
//   kJump      the same, but the rows since the sensor's last kSnapshot or kJump were dropped
//   kCovers    u32 number of segments that a history stands for; its first frame
//   kBegin     i64 time at which the command was started
//   kEnd       i64 time at which it ended, u8 1 for a signal, u32 exit status or signal
// A long run's journal goes on in further files: JournalFiles, journal_rotation.h.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "joulescale/base/error.h"
#include "joulescale/base/frame_log.h"
#include "joulescale/monitor/account_state.h"
#include "joulescale/sensors/sensor.h"

namespace joulescale {

inline constexpr std::string_view kJournalMagic = "JSJRNL04";
/// Of a history, which holds kJump: who does not know these would miss energy.
inline constexpr std::string_view kHistoryMagic = "JSHIST03";

enum class JournalType : std::uint8_t {
  kStart = 1,
  kSensor = 2,
  kReadings = 3,
  kMissed = 4,
  kBegin = 5,
  kEnd = 6,
  kSnapshot = 7,
  kJump = 8,
  kCovers = 9,
};

/// The files of one rank's journal. All of it is in `first`, unless that grew too large: then it
/// goes on in segments 1, 2..., and the oldest segments are replaced by a history, which has fewer
/// readings. Segments that the history covers are no longer part of the journal.
struct JournalFiles {
  std::filesystem::path first;

  std::filesystem::path history() const;
  /// 0 is `first`.
  std::filesystem::path segment(std::uint32_t number) const;
  /// Those to be read, in order. Errors: the history cannot be read.
  Result<std::vector<std::filesystem::path>> present() const;
  /// One of them, to be read frame by frame.
  Result<FrameReader> open(const std::filesystem::path& file) const;
  void remove() const;
};

/// Not thread safe.
class JournalWriter {
 public:
  static Result<JournalWriter> create(const std::filesystem::path& file);

  Result<void> start(Nanoseconds monotonic, Nanoseconds wall_offset, Nanoseconds boot_offset);
  Result<void> sensor(std::size_t number,
                      Nanoseconds sample_period,
                      std::span<const Channel> channels);
  /// Buffered until sync(), or until the block is large.
  Result<void> readings(std::size_t sensor, std::span<const RawReading> readings);
  Result<void> missed(std::size_t sensor, std::uint64_t count);
  /// Ends the sensor's block. `states`: one a channel.
  Result<void> snapshot(std::size_t sensor, std::span<const ChannelState> states);
  Result<void> begin(Nanoseconds time);
  Result<void> end(Nanoseconds time, bool by_signal, int status);
  /// Everything so far is on disk when it returns.
  Result<void> sync();
  /// Everything is handed to the kernel, and nothing more is written.
  Result<void> close();
  /// Of the file so far, in bytes, and of what sync() would add.
  std::size_t size() const { return log_.size(); }

 private:
  struct Block {
    PayloadWriter rows;
    std::vector<RawReading> last;
  };

  explicit JournalWriter(FrameWriter log) : log_(std::move(log)) {}
  Result<void> append(JournalType type);
  Result<void> end_block(std::size_t sensor);
  Result<void> end_blocks();

  FrameWriter log_;
  PayloadWriter payload_;
  std::map<std::size_t, Block> blocks_;  // by sensor
};

/// Called for each frame and row, in the order of the file: rows of one sensor in the order in
/// which they were made, those of different sensors in blocks. What is not overridden is passed
/// over.
class JournalVisitor {
 public:
  virtual ~JournalVisitor() = default;
  /// The journal was begun at `monotonic`; the wall clock was then ahead by `wall_offset`.
  virtual void on_start(Nanoseconds /*monotonic*/, Nanoseconds /*wall_offset*/) {}
  virtual void on_sensor(std::size_t /*number*/,
                         Nanoseconds /*sample_period*/,
                         const std::vector<Channel>& /*channels*/) {}
  virtual void on_readings(std::size_t /*sensor*/, const std::vector<RawReading>& /*readings*/) {}
  virtual void on_missed(std::size_t /*sensor*/, std::uint64_t /*count*/) {}
  virtual void on_snapshot(std::size_t /*sensor*/, const std::vector<ChannelState>& /*states*/) {}
  virtual void on_jump(std::size_t /*sensor*/, const std::vector<ChannelState>& /*states*/) {}
  virtual void on_begin(Nanoseconds /*time*/) {}
  virtual void on_end(Nanoseconds /*time*/, bool /*by_signal*/, int /*status*/) {}
};

/// Reads a journal, in all its files, frame by frame, in constant memory. Not thread safe.
class JournalReader {
 public:
  static Result<JournalReader> open(const std::filesystem::path& file);

  /// Visits the next whole frame; one with a damaged content is left out. False at the end.
  Result<bool> next(JournalVisitor& visitor);
  /// At the end: bytes after the last whole frame.
  std::size_t torn_bytes() const { return torn_bytes_; }

 private:
  JournalReader(FrameReader log, JournalFiles files, std::vector<std::filesystem::path> later)
      : log_(std::move(log)), files_(std::move(files)), later_(std::move(later)) {}
  Result<bool> next_frame();
  void visit_frame(JournalVisitor& visitor);
  void visit_states(PayloadReader& in, bool is_jump, JournalVisitor& visitor);

  FrameReader log_;
  JournalFiles files_;
  std::vector<std::filesystem::path> later_;  // the next one last
  std::size_t torn_bytes_ = 0;
  std::map<std::size_t, std::size_t> num_channels_;  // of each sensor
};

/// Visits all of it. Returns the torn bytes.
Result<std::size_t> read_journal(const std::filesystem::path& file, JournalVisitor& visitor);

}  // namespace joulescale
