// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/journal.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace joulescale {
namespace {

/// Times and periods of a damaged journal stay within 18 years, so that sums and small multiples
/// cannot overflow.
constexpr std::int64_t kLatest = std::int64_t{1} << 59;
/// A wall-clock time: until the year 2116, so that a journal's times can be added.
constexpr std::int64_t kLatestWall = std::int64_t{1} << 62;

std::int64_t get_nanoseconds(PayloadReader& in, std::int64_t latest = kLatest) {
  return std::clamp(in.i64(), std::int64_t{0}, latest);
}

constexpr double kMilliwattsPerWatt = 1e3;
constexpr std::uint32_t kMostChannels = 65536;
constexpr std::uint32_t kMostInputs = 64;
constexpr std::int64_t kTimeUnit = 128;  // ns
constexpr std::size_t kLargeBlock = std::size_t{32} * 1024;

void put_channel(PayloadWriter& out, const Channel& channel) {
  out.text(channel.name)
      .u8(static_cast<std::uint8_t>(channel.quantity))
      .u8(static_cast<std::uint8_t>(channel.behavior))
      .text(domain_name(channel.domain))
      .u8(static_cast<std::uint8_t>(channel.unit))
      .text(channel.overlap_group)
      .u8(channel.counter_range ? 1 : 0)
      .u64(channel.counter_range.value_or(0))
      .i64(channel.update_period ? channel.update_period->count() : -1)
      .i64(channel.averaging.count())
      .u64(static_cast<std::uint64_t>(
          std::llround(channel.plausible_power.value() * kMilliwattsPerWatt)))
      .text(provenance_name(channel.provenance))
      .text(channel.instrument_accuracy)
      .u32(static_cast<std::uint32_t>(channel.inputs.size()));
  for (const auto& [name, value] : channel.inputs) {
    out.text(name).text(value);
  }
}

/// Nothing for content that no writer makes.
std::optional<Channel> get_channel(PayloadReader& in) {
  Channel channel;
  channel.name = in.text();
  const std::uint8_t quantity = in.u8();
  const std::uint8_t behavior = in.u8();
  const auto domain = domain_from_name(in.text());
  const std::uint8_t unit = in.u8();
  channel.overlap_group = in.text();
  const bool has_range = in.u8() != 0;
  const std::uint64_t range = in.u64();
  const std::int64_t update_period = get_nanoseconds(in);
  channel.averaging = Nanoseconds(get_nanoseconds(in));
  channel.plausible_power = Watts(static_cast<double>(in.u64()) / kMilliwattsPerWatt);
  const auto provenance = provenance_from_name(in.text());
  channel.instrument_accuracy = in.text();
  const std::uint32_t num_inputs = in.u32();
  if (!in.ok() || !domain || !provenance || behavior > 1 ||
      quantity > static_cast<std::uint8_t>(Quantity::kMetric) ||
      unit > static_cast<std::uint8_t>(kLastRawUnit) || num_inputs > kMostInputs) {
    return std::nullopt;
  }
  for (std::uint32_t i = 0; i < num_inputs; ++i) {
    const std::string name(in.text());
    channel.inputs[name] = in.text();
  }
  channel.quantity = static_cast<Quantity>(quantity);
  channel.behavior = static_cast<Behavior>(behavior);
  channel.domain = *domain;
  channel.unit = static_cast<RawUnit>(unit);
  channel.provenance = *provenance;
  if (has_range && range > 0) {
    channel.counter_range = range;
  }
  if (update_period > 0) {
    channel.update_period = Nanoseconds(update_period);
  }
  return in.ok() && is_consistent(channel) ? std::optional(channel) : std::nullopt;
}

struct DeclaredSensor {
  std::size_t number = 0;
  Nanoseconds sample_period{0};
  std::vector<Channel> channels;
};

/// Nothing for content that no writer makes.
std::optional<DeclaredSensor> get_sensor(PayloadReader& in) {
  DeclaredSensor sensor;
  sensor.number = in.u32();
  sensor.sample_period = Nanoseconds(get_nanoseconds(in));
  const std::uint32_t num_channels = in.u32();
  if (!in.ok() || num_channels > kMostChannels) {
    return std::nullopt;
  }
  for (std::uint32_t i = 0; i < num_channels; ++i) {
    auto channel = get_channel(in);
    if (!channel) {
      return std::nullopt;
    }
    sensor.channels.push_back(std::move(*channel));
  }
  return sensor;
}

/// A time in the journal's units; nothing for one that no writer makes.
std::optional<std::int64_t> later(std::int64_t time, std::int64_t difference) {
  constexpr std::int64_t kMost = (std::int64_t{1} << 59) / kTimeUnit;
  if (difference > kMost - time || difference < -time) {
    return std::nullopt;
  }
  return time + difference;
}

/// Rows that no writer makes end the block.
void visit_readings(PayloadReader& in,
                    std::size_t num_channels,
                    std::size_t sensor,
                    JournalVisitor& visitor) {
  std::vector<RawReading> row(num_channels);
  std::int64_t row_before = 0;
  while (in.ok() && !in.at_end()) {
    const bool has_status = in.u8() != 0;
    std::int64_t previous = row_before;
    for (RawReading& reading : row) {
      const std::uint8_t status = has_status ? in.u8() : 0;
      reading.raw += static_cast<std::uint64_t>(in.zigzag());
      const auto before = later(previous, in.zigzag());
      const auto after =
          later(before.value_or(0), static_cast<std::int64_t>(in.varint() & INT64_MAX));
      if (!in.ok() || status > static_cast<std::uint8_t>(ReadStatus::kGone) || !before || !after) {
        return;
      }
      reading.status = static_cast<ReadStatus>(status);
      reading.before = Nanoseconds(*before * kTimeUnit);
      reading.after = Nanoseconds(*after * kTimeUnit);
      previous = *after;
    }
    row_before = row.front().before.count() / kTimeUnit;
    visitor.on_readings(sensor, row);
  }
}

}  // namespace

Result<JournalWriter> JournalWriter::create(const std::filesystem::path& file) {
  JOULESCALE_TRY_ASSIGN(auto log, FrameWriter::create(file, kJournalMagic));
  return JournalWriter(std::move(log));
}

Result<void> JournalWriter::append(JournalType type) {
  auto appended = log_.append(static_cast<std::uint8_t>(type), payload_.bytes());
  payload_.clear();
  return appended;
}

Result<void> JournalWriter::start(Nanoseconds monotonic,
                                  Nanoseconds wall_offset,
                                  Nanoseconds boot_offset) {
  payload_.i64(monotonic.count()).i64(wall_offset.count()).i64(boot_offset.count());
  return append(JournalType::kStart);
}

Result<void> JournalWriter::sensor(std::size_t number,
                                   Nanoseconds sample_period,
                                   std::span<const Channel> channels) {
  JOULESCALE_TRY(end_block(number));
  payload_.u32(static_cast<std::uint32_t>(number))
      .i64(sample_period.count())
      .u32(static_cast<std::uint32_t>(channels.size()));
  for (const Channel& channel : channels) {
    put_channel(payload_, channel);
  }
  return append(JournalType::kSensor);
}

Result<void> JournalWriter::readings(std::size_t sensor, std::span<const RawReading> readings) {
  if (readings.empty()) {
    return {};
  }
  Block& block = blocks_[sensor];
  block.last.resize(readings.size());
  const bool has_status = std::ranges::any_of(
      readings, [](const RawReading& reading) { return reading.status != ReadStatus::kOk; });
  block.rows.u8(has_status ? 1 : 0);
  Nanoseconds previous = block.last.front().before;
  for (std::size_t i = 0; i < readings.size(); ++i) {
    RawReading reading = readings[i];
    reading.before = Nanoseconds(reading.before.count() / kTimeUnit);
    reading.after = Nanoseconds(reading.after.count() / kTimeUnit);
    if (has_status) {
      block.rows.u8(static_cast<std::uint8_t>(reading.status));
    }
    if (reading.status != ReadStatus::kOk) {
      reading.raw = block.last[i].raw;  // means nothing: as short as can be
    }
    block.rows.zigzag(static_cast<std::int64_t>(reading.raw - block.last[i].raw))
        .zigzag((reading.before - previous).count())
        .varint(static_cast<std::uint64_t>((reading.after - reading.before).count()));
    previous = reading.after;
    block.last[i] = reading;
  }
  return block.rows.bytes().size() >= kLargeBlock ? end_block(sensor) : Result<void>();
}

Result<void> JournalWriter::end_block(std::size_t sensor) {
  const auto found = blocks_.find(sensor);
  if (found == blocks_.end() || found->second.rows.bytes().empty()) {
    return {};
  }
  payload_.u32(static_cast<std::uint32_t>(sensor)).append(found->second.rows.bytes());
  found->second.rows.clear();
  found->second.last.clear();
  return append(JournalType::kReadings);
}

Result<void> JournalWriter::end_blocks() {
  for (const auto& [sensor, block] : blocks_) {
    JOULESCALE_TRY(end_block(sensor));
  }
  return {};
}

Result<void> JournalWriter::sync() {
  JOULESCALE_TRY(end_blocks());
  return log_.sync();
}

Result<void> JournalWriter::close() {
  JOULESCALE_TRY(end_blocks());
  return log_.close();
}

Result<void> JournalWriter::missed(std::size_t sensor, std::uint64_t count) {
  payload_.u32(static_cast<std::uint32_t>(sensor)).u64(count);
  return append(JournalType::kMissed);
}

Result<void> JournalWriter::snapshot(std::size_t sensor, std::span<const ChannelState> states) {
  JOULESCALE_TRY(end_block(sensor));
  payload_.u32(static_cast<std::uint32_t>(sensor));
  for (const ChannelState& state : states) {
    put_state(payload_, state);
  }
  return append(JournalType::kSnapshot);
}

Result<void> JournalWriter::begin(Nanoseconds time) {
  payload_.i64(time.count());
  return append(JournalType::kBegin);
}

Result<void> JournalWriter::end(Nanoseconds time, bool by_signal, int status) {
  payload_.i64(time.count()).u8(by_signal ? 1 : 0).u32(static_cast<std::uint32_t>(status));
  return append(JournalType::kEnd);
}

Result<JournalReader> JournalReader::open(const std::filesystem::path& file) {
  const JournalFiles files{file};
  JOULESCALE_TRY_ASSIGN(std::vector<std::filesystem::path> present, files.present());
  std::ranges::reverse(present);
  JOULESCALE_TRY_ASSIGN(FrameReader log, files.open(present.back()));
  present.pop_back();
  return JournalReader(std::move(log), files, std::move(present));
}

/// The next frame of this file or of the next one.
Result<bool> JournalReader::next_frame() {
  while (true) {
    JOULESCALE_TRY_ASSIGN(const bool more, log_.next());
    if (more) {
      return true;
    }
    torn_bytes_ = log_.torn_bytes();
    if (later_.empty()) {
      return false;
    }
    JOULESCALE_TRY_ASSIGN(log_, files_.open(later_.back()));
    later_.pop_back();
  }
}

void JournalReader::visit_states(PayloadReader& in, bool is_jump, JournalVisitor& visitor) {
  const std::uint32_t sensor = in.u32();
  const auto found = num_channels_.find(sensor);
  if (!in.ok() || found == num_channels_.end()) {
    return;
  }
  std::vector<ChannelState> states;
  while (states.size() < found->second) {
    const auto state = get_state(in);
    if (!state) {
      return;
    }
    states.push_back(*state);
  }
  is_jump ? visitor.on_jump(sensor, states) : visitor.on_snapshot(sensor, states);
}

Result<bool> JournalReader::next(JournalVisitor& visitor) {
  JOULESCALE_TRY_ASSIGN(const bool more, next_frame());
  if (more) {
    visit_frame(visitor);
  }
  return more;
}

void JournalReader::visit_frame(JournalVisitor& visitor) {
  PayloadReader in(log_.payload());
  switch (static_cast<JournalType>(log_.type())) {
    case JournalType::kStart: {
      const Nanoseconds monotonic(get_nanoseconds(in));
      const Nanoseconds wall_offset(get_nanoseconds(in, kLatestWall));
      if (in.ok()) {
        visitor.on_start(monotonic, wall_offset);
      }
      break;
    }
    case JournalType::kSensor:
      if (const auto declared = get_sensor(in)) {
        num_channels_[declared->number] = declared->channels.size();
        visitor.on_sensor(declared->number, declared->sample_period, declared->channels);
      }
      break;
    case JournalType::kReadings: {
      const std::uint32_t sensor = in.u32();
      const auto found = num_channels_.find(sensor);
      if (in.ok() && found != num_channels_.end() && found->second > 0) {
        visit_readings(in, found->second, sensor, visitor);
      }
      break;
    }
    case JournalType::kMissed: {
      const std::uint32_t sensor = in.u32();
      const std::uint64_t count = in.u64();
      if (in.ok()) {
        visitor.on_missed(sensor, count);
      }
      break;
    }
    case JournalType::kSnapshot:
    case JournalType::kJump:
      visit_states(in, log_.type() == static_cast<std::uint8_t>(JournalType::kJump), visitor);
      break;
    case JournalType::kBegin:
      if (const Nanoseconds time(get_nanoseconds(in)); in.ok()) {
        visitor.on_begin(time);
      }
      break;
    case JournalType::kEnd: {
      const Nanoseconds time(get_nanoseconds(in));
      const bool by_signal = in.u8() != 0;
      const std::uint32_t status = in.u32();
      if (in.ok()) {
        visitor.on_end(time, by_signal, static_cast<int>(status));
      }
      break;
    }
    default:  // of a later version
      break;
  }
}

Result<std::size_t> read_journal(const std::filesystem::path& file, JournalVisitor& visitor) {
  JOULESCALE_TRY_ASSIGN(JournalReader reader, JournalReader::open(file));
  while (true) {
    JOULESCALE_TRY_ASSIGN(const bool more, reader.next(visitor));
    if (!more) {
      return reader.torn_bytes();
    }
  }
}

}  // namespace joulescale
