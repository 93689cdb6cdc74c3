// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/journal_rotation.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace joulescale {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLeastBudget = std::size_t{64} * 1024;
constexpr std::size_t kPartsOfBudget = 5;  // history, its successor, two old segments, the last one
constexpr std::uint32_t kFullSegments = 2;

/// Copies frames into a history and leaves out what it does not need.
class Thinning {
 public:
  /// `halve`: of the states between which the readings are gone already, every second goes too.
  Thinning(FrameWriter& out, bool halve) : out_(out), halve_(halve) {}

  Result<void> take(std::uint8_t type, std::string_view payload) {
    PayloadReader in(payload);
    switch (static_cast<JournalType>(type)) {
      case JournalType::kCovers:
        return {};
      case JournalType::kStart:
        return std::exchange(started_, true) ? Result<void>() : out_.append(type, payload);
      case JournalType::kSensor:
        return declare(in.u32(), payload);
      case JournalType::kReadings:
      case JournalType::kMissed: {
        Sensor& sensor = sensors_[in.u32()];
        if (!sensor.keeps_rows) {
          return {};
        }
        JOULESCALE_TRY(write_pending(sensor));
        return out_.append(type, payload);
      }
      case JournalType::kSnapshot:
      case JournalType::kJump:
        return take_states(sensors_[in.u32()], type, payload);
      case JournalType::kBegin:
        for (auto& [number, sensor] : sensors_) {
          sensor.keeps_rows = true;
        }
        return out_.append(type, payload);
      default:
        return out_.append(type, payload);
    }
  }

  Result<void> finish() {
    for (auto& [number, sensor] : sensors_) {
      JOULESCALE_TRY(write_pending(sensor));
    }
    return {};
  }

 private:
  struct Sensor {
    bool declared = false;
    bool keeps_rows = false;
    bool dropped_last = false;
    std::optional<std::string> pending;  // a jump that may turn out not to be needed
  };

  /// Segments repeat the declarations; after the first the rows are kept to the next snapshot.
  Result<void> declare(std::uint32_t number, std::string_view payload) {
    Sensor& sensor = sensors_[number];
    if (std::exchange(sensor.declared, true)) {
      return {};
    }
    sensor.keeps_rows = true;
    return out_.append(static_cast<std::uint8_t>(JournalType::kSensor), payload);
  }

  Result<void> take_states(Sensor& sensor, std::uint8_t type, std::string_view payload) {
    const bool is_snapshot = type == static_cast<std::uint8_t>(JournalType::kSnapshot);
    if (is_snapshot && std::exchange(sensor.keeps_rows, false)) {
      JOULESCALE_TRY(write_pending(sensor));
      return out_.append(type, payload);
    }
    if (halve_ && sensor.pending && !sensor.dropped_last) {
      sensor.dropped_last = true;
    } else {
      JOULESCALE_TRY(write_pending(sensor));
    }
    sensor.pending = payload;
    return {};
  }

  Result<void> write_pending(Sensor& sensor) {
    sensor.dropped_last = false;
    const auto pending = std::exchange(sensor.pending, std::nullopt);
    return pending ? out_.append(static_cast<std::uint8_t>(JournalType::kJump), *pending)
                   : Result<void>();
  }

  FrameWriter& out_;
  bool halve_;
  bool started_ = false;
  std::map<std::uint32_t, Sensor> sensors_;
};

/// Writes a history of `inputs` to `output`. Returns its size.
Result<std::size_t> write_history(const JournalFiles& files,
                                  const std::vector<fs::path>& inputs,
                                  std::uint32_t covered,
                                  bool halve,
                                  const fs::path& output) {
  JOULESCALE_TRY_ASSIGN(FrameWriter out, FrameWriter::create(output, kHistoryMagic));
  PayloadWriter covers;
  covers.u32(covered);
  JOULESCALE_TRY(out.append(static_cast<std::uint8_t>(JournalType::kCovers), covers.bytes()));
  Thinning thinning(out, halve);
  for (const fs::path& input : inputs) {
    JOULESCALE_TRY_ASSIGN(FrameReader log, files.open(input));
    while (true) {
      JOULESCALE_TRY_ASSIGN(const bool more, log.next());
      if (!more) {
        break;
      }
      JOULESCALE_TRY(thinning.take(log.type(), log.payload()));
    }
  }
  JOULESCALE_TRY(thinning.finish());
  JOULESCALE_TRY(out.sync());
  return out.size();
}

/// Puts a history of `inputs` in place of the one that may be there. Returns its size.
Result<std::size_t> replace_history(const JournalFiles& files,
                                    const std::vector<fs::path>& inputs,
                                    std::uint32_t covered,
                                    bool halve) {
  const fs::path fresh = files.history().native() + ".new";
  std::error_code error;
  fs::remove(fresh, error);  // of a monitor that was killed
  auto size = write_history(files, inputs, covered, halve, fresh);
  if (size) {
    fs::rename(fresh, files.history(), error);
    if (error) {
      size = io_error("put in place", files.history().native(), error.value());
    }
  }
  if (!size) {
    fs::remove(fresh, error);
  }
  return size;
}

}  // namespace

Result<void> thin_journal(const JournalFiles& files, std::uint32_t end, std::size_t limit) {
  JOULESCALE_TRY_ASSIGN(const std::vector<fs::path> present, files.present());
  const std::vector<fs::path> inputs(present.begin(),
                                     std::ranges::find(present, files.segment(end)));
  JOULESCALE_TRY_ASSIGN(std::size_t size, replace_history(files, inputs, end, false));
  std::error_code ignored;
  for (const fs::path& input : inputs) {
    if (input != files.history()) {
      fs::remove(input, ignored);
    }
  }
  while (size > limit) {
    const auto halved = replace_history(files, {files.history()}, end, true);
    if (!halved || *halved >= size) {
      break;
    }
    size = *halved;
  }
  return {};
}

RotatingJournal::RotatingJournal(JournalFiles files,
                                 const JournalLimits& limits,
                                 JournalWriter writer)
    : files_(std::move(files)), limits_(limits), writer_(std::move(writer)) {
  limits_.budget_bytes = std::max(limits_.budget_bytes, kLeastBudget);
}

Result<RotatingJournal> RotatingJournal::create(const JournalFiles& files,
                                                const JournalLimits& limits) {
  JOULESCALE_TRY_ASSIGN(JournalWriter writer, JournalWriter::create(files.first));
  return RotatingJournal(files, limits, std::move(writer));
}

Result<void> RotatingJournal::start(Nanoseconds monotonic,
                                    Nanoseconds wall_offset,
                                    Nanoseconds boot_offset) {
  return writer_.start(monotonic, wall_offset, boot_offset);
}

Result<void> RotatingJournal::sensor(std::size_t number,
                                     Nanoseconds sample_period,
                                     std::span<const Channel> channels) {
  sensors_.push_back({number, sample_period, {channels.begin(), channels.end()}});
  return writer_.sensor(number, sample_period, channels);
}

Result<void> RotatingJournal::readings(std::size_t sensor, std::span<const RawReading> readings) {
  for (Sensor& known : sensors_) {
    known.has_news = known.has_news || known.number == sensor;
  }
  return writer_.readings(sensor, readings);
}

Result<void> RotatingJournal::missed(std::size_t sensor, std::uint64_t count) {
  return writer_.missed(sensor, count);
}

Result<void> RotatingJournal::begin(Nanoseconds time, const NodeMeter& meter) {
  JOULESCALE_TRY(snapshots(meter));
  return writer_.begin(time);
}

Result<void> RotatingJournal::end(Nanoseconds time, bool by_signal, int status) {
  return writer_.end(time, by_signal, status);
}

Result<void> RotatingJournal::snapshots(const NodeMeter& meter) {
  for (Sensor& sensor : sensors_) {
    if (std::exchange(sensor.has_news, false)) {
      JOULESCALE_TRY(writer_.snapshot(sensor.number, meter.states(sensor.number)));
    }
  }
  return {};
}

Result<void> RotatingJournal::next_segment() {
  JOULESCALE_TRY(writer_.sync());
  auto next = JournalWriter::create(files_.segment(segment_ + 1));
  if (!next) {
    return {};  // this one goes on
  }
  writer_ = std::move(next).value();
  ++segment_;
  for (const Sensor& sensor : sensors_) {
    JOULESCALE_TRY(writer_.sensor(sensor.number, sensor.sample_period, sensor.channels));
  }
  return {};
}

std::size_t RotatingJournal::part_bytes() const { return limits_.budget_bytes / kPartsOfBudget; }

bool RotatingJournal::is_full() const { return writer_.size() >= part_bytes(); }

Result<void> RotatingJournal::sync(Nanoseconds now, const NodeMeter& meter) {
  const bool was_full = is_full();
  next_snapshot_ = next_snapshot_.value_or(now + limits_.snapshot_period);
  if (was_full || now >= *next_snapshot_) {
    JOULESCALE_TRY(snapshots(meter));
    next_snapshot_ = now + limits_.snapshot_period;
  }
  JOULESCALE_TRY(writer_.sync());
  if (!was_full) {
    return {};
  }
  JOULESCALE_TRY(next_segment());
  const std::uint32_t end = segment_ - std::min(segment_, kFullSegments);
  if (end > num_thinned_ && thin_journal(files_, end, part_bytes())) {
    num_thinned_ = end;
  }
  return {};
}

Result<void> RotatingJournal::finish(Nanoseconds now, const NodeMeter& meter) {
  if (is_full()) {
    JOULESCALE_TRY(sync(now, meter));
  }
  return writer_.close();
}

}  // namespace joulescale
