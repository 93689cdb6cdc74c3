// SPDX-License-Identifier: Apache-2.0
// A journal that keeps to a size. It is written in segments of a fifth of the budget. Of the oldest
// ones only a history stays: where each account stood once a minute, so that totals are the same to
// the last bit, and all readings of the minutes in which a sensor was opened or the command began.
// When the history itself is too large, every second of its states is dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "joulescale/monitor/journal.h"
#include "joulescale/monitor/node_meter.h"

namespace joulescale {

struct JournalLimits {
  /// All files together, about; one of less than 64 KiB counts as 64 KiB.
  std::size_t budget_bytes = std::size_t{256} << 20;
  /// How often it is noted where the accounts stand: what is left of old readings.
  Nanoseconds snapshot_period = std::chrono::minutes(1);
};

/// Not thread safe. Its files are there and whole whenever the process is killed.
class RotatingJournal {
 public:
  static Result<RotatingJournal> create(const JournalFiles& files, const JournalLimits& limits);

  Result<void> start(Nanoseconds monotonic, Nanoseconds wall_offset, Nanoseconds boot_offset);
  Result<void> sensor(std::size_t number,
                      Nanoseconds sample_period,
                      std::span<const Channel> channels);
  Result<void> readings(std::size_t sensor, std::span<const RawReading> readings);
  Result<void> missed(std::size_t sensor, std::uint64_t count);
  /// `meter` holds all readings so far, those of sensor n under the number n.
  Result<void> begin(Nanoseconds time, const NodeMeter& meter);
  Result<void> end(Nanoseconds time, bool by_signal, int status);
  /// Everything so far is on disk when it returns; from time to time begins a new segment and thins
  /// the oldest. What cannot be thinned (a full disk) stays as it is.
  Result<void> sync(Nanoseconds now, const NodeMeter& meter);
  /// After the last reading. The rest is with the kernel and will be on disk in a while: should the
  /// node lose its power before, it lacks what came after the last sync().
  Result<void> finish(Nanoseconds now, const NodeMeter& meter);
  /// Readings were dropped.
  bool is_thinned() const { return num_thinned_ > 0; }

 private:
  struct Sensor {
    std::size_t number = 0;
    Nanoseconds sample_period{0};
    std::vector<Channel> channels;
    bool has_news = false;  // readings since its last snapshot
  };

  RotatingJournal(JournalFiles files, const JournalLimits& limits, JournalWriter writer);
  Result<void> snapshots(const NodeMeter& meter);
  Result<void> next_segment();
  std::size_t part_bytes() const;
  bool is_full() const;

  JournalFiles files_;
  JournalLimits limits_;
  JournalWriter writer_;
  std::uint32_t segment_ = 0;
  std::uint32_t num_thinned_ = 0;  // segments that the history stands for
  std::vector<Sensor> sensors_;
  std::optional<Nanoseconds> next_snapshot_;
};

/// Replaces the segments before `end` (and the history so far) by a history of at most `limit`
/// bytes, if that is possible. The files are whole at every moment; after an error they are as they
/// were.
Result<void> thin_journal(const JournalFiles& files, std::uint32_t end, std::size_t limit);

}  // namespace joulescale
