// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/journal.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace joulescale {
namespace {

/// Times and periods of a damaged journal stay within 18 years, so that sums and small multiples
/// cannot overflow.
std::int64_t get_nanoseconds(PayloadReader& in) {
  constexpr std::int64_t kMost = std::int64_t{1} << 59;
  return std::clamp(in.i64(), std::int64_t{0}, kMost);
}

constexpr double kMilliwattsPerWatt = 1e3;
constexpr std::uint32_t kMostChannels = 65536;
constexpr std::uint32_t kMostInputs = 64;

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
  channel.plausible_power = Watts(static_cast<double>(in.u64()) / kMilliwattsPerWatt);
  const auto provenance = provenance_from_name(in.text());
  channel.instrument_accuracy = in.text();
  const std::uint32_t num_inputs = in.u32();
  if (!in.ok() || !domain || !provenance || quantity > 1 || behavior > 1 ||
      unit > static_cast<std::uint8_t>(RawUnit::kMilliwatt) || num_inputs > kMostInputs) {
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
  return in.ok() ? std::optional(channel) : std::nullopt;
}

void visit_sensor(PayloadReader& in, JournalVisitor& visitor) {
  const std::uint32_t number = in.u32();
  const Nanoseconds period(get_nanoseconds(in));
  const std::uint32_t num_channels = in.u32();
  if (!in.ok() || num_channels > kMostChannels) {
    return;
  }
  std::vector<Channel> channels;
  for (std::uint32_t i = 0; i < num_channels; ++i) {
    auto channel = get_channel(in);
    if (!channel) {
      return;
    }
    channels.push_back(std::move(*channel));
  }
  visitor.on_sensor(number, period, channels);
}

void visit_readings(PayloadReader& in, JournalVisitor& visitor, std::vector<RawReading>& readings) {
  const std::uint32_t sensor = in.u32();
  readings.clear();
  while (in.ok() && !in.at_end()) {
    RawReading reading;
    const std::uint8_t status = in.u8();
    reading.raw = in.u64();
    reading.before = Nanoseconds(get_nanoseconds(in));
    reading.after = Nanoseconds(get_nanoseconds(in));
    if (!in.ok() || status > static_cast<std::uint8_t>(ReadStatus::kGone) ||
        reading.after < reading.before) {
      return;
    }
    reading.status = static_cast<ReadStatus>(status);
    readings.push_back(reading);
  }
  if (in.ok()) {
    visitor.on_readings(sensor, readings);
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
  payload_.u32(static_cast<std::uint32_t>(number))
      .i64(sample_period.count())
      .u32(static_cast<std::uint32_t>(channels.size()));
  for (const Channel& channel : channels) {
    put_channel(payload_, channel);
  }
  return append(JournalType::kSensor);
}

Result<void> JournalWriter::readings(std::size_t sensor, std::span<const RawReading> readings) {
  payload_.u32(static_cast<std::uint32_t>(sensor));
  for (const RawReading& reading : readings) {
    payload_.u8(static_cast<std::uint8_t>(reading.status))
        .u64(reading.raw)
        .i64(reading.before.count())
        .i64(reading.after.count());
  }
  return append(JournalType::kReadings);
}

Result<void> JournalWriter::missed(std::size_t sensor, std::uint64_t count) {
  payload_.u32(static_cast<std::uint32_t>(sensor)).u64(count);
  return append(JournalType::kMissed);
}

Result<void> JournalWriter::begin(Nanoseconds time) {
  payload_.i64(time.count());
  return append(JournalType::kBegin);
}

Result<void> JournalWriter::end(Nanoseconds time, bool by_signal, int status) {
  payload_.i64(time.count()).u8(by_signal ? 1 : 0).u32(static_cast<std::uint32_t>(status));
  return append(JournalType::kEnd);
}

Result<std::size_t> read_journal(const std::filesystem::path& file, JournalVisitor& visitor) {
  std::vector<RawReading> readings;
  return visit_frame_log(file, kJournalMagic, [&](std::uint8_t type, std::string_view payload) {
    PayloadReader in(payload);
    switch (static_cast<JournalType>(type)) {
      case JournalType::kSensor:
        visit_sensor(in, visitor);
        break;
      case JournalType::kReadings:
        visit_readings(in, visitor, readings);
        break;
      case JournalType::kMissed: {
        const std::uint32_t sensor = in.u32();
        const std::uint64_t count = in.u64();
        if (in.ok()) {
          visitor.on_missed(sensor, count);
        }
        break;
      }
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
      default:  // kStart is for people; others are of a later version
        break;
    }
  });
}

}  // namespace joulescale
