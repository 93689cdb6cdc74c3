// SPDX-License-Identifier: Apache-2.0
#include "joulescale/sensors/nvml/nvml_power.h"

#include <cmath>

namespace joulescale {
namespace {

/// A sample's own time is believed if it lies within this before its reading.
constexpr Nanoseconds kOldestSample = std::chrono::seconds(5);
/// Wall and monotonic clock are read one after the other, the driver's time is in microseconds.
constexpr Nanoseconds kClockGrain = std::chrono::milliseconds(2);

unsigned field_of(NvmlPowerKind kind) {
  return kind == NvmlPowerKind::kInstant ? kNvmlFieldPowerInstant : kNvmlFieldPowerAverage;
}

std::optional<std::uint64_t> not_negative(long long value) {
  return value < 0 ? std::nullopt : std::optional(static_cast<std::uint64_t>(value));
}

/// The type differs between drivers.
std::optional<std::uint64_t> whole_number(const NvmlFieldValue& field) {
  switch (field.value_type) {
    case kNvmlTypeDouble:
      return field.value.as_double >= 0.0 && field.value.as_double < 1e15
                 ? not_negative(std::llround(field.value.as_double))
                 : std::nullopt;
    case kNvmlTypeUnsignedInt:
      return field.value.as_unsigned == kNvmlNoValue32
                 ? std::nullopt
                 : std::optional<std::uint64_t>(field.value.as_unsigned);
    case kNvmlTypeUnsignedLong:
    case kNvmlTypeUnsignedLongLong:
      return field.value.as_unsigned_long_long == ~0ULL
                 ? std::nullopt
                 : std::optional<std::uint64_t>(field.value.as_unsigned_long_long);
    case kNvmlTypeSignedLongLong:
      return not_negative(field.value.as_signed_long_long);
    case kNvmlTypeSignedInt:
      return not_negative(field.value.as_signed);
    case kNvmlTypeUnsignedShort:
      return field.value.as_unsigned_short;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::string_view power_kind_name(NvmlPowerKind kind) {
  switch (kind) {
    case NvmlPowerKind::kInstant:
      return "power_instant";
    case NvmlPowerKind::kAverage:
      return "power_average";
    case NvmlPowerKind::kUsage:
      return "power";
  }
  return "power";
}

ReadStatus read_status_of(NvmlReturn code) {
  switch (code) {
    case kNvmlSuccess:
      return ReadStatus::kOk;
    case kNvmlGpuIsLost:
      return ReadStatus::kGone;
    default:
      return ReadStatus::kMissing;
  }
}

std::optional<NvmlPower> NvmlPower::probe(const NvmlFunctions& nvml,
                                          NvmlDevice device,
                                          NvmlPowerKind kind,
                                          unsigned scope,
                                          Clock& clock,
                                          NvmlReturn& code) {
  NvmlPower power(nvml, device, kind, scope, clock);
  const RawReading reading = power.read();
  code = power.code_;
  if (reading.status != ReadStatus::kOk) {
    return std::nullopt;
  }
  power.last_.raw = reading.raw;
  return power;
}

RawReading NvmlPower::read() noexcept {
  RawReading reading = kind_ == NvmlPowerKind::kUsage ? read_usage() : read_field();
  // No GPU that answers takes 0 W: drivers that have no value now say so.
  if (reading.status == ReadStatus::kOk && reading.raw == 0) {
    code_ = kNvmlNotSupported;
    reading.status = ReadStatus::kMissing;
  }
  return reading;
}

RawReading NvmlPower::read_usage() noexcept {
  RawReading reading;
  unsigned power_mw = 0;
  reading.before = clock_->monotonic_now();
  code_ = nvml_call(nvml_->power_usage_mw, device_, &power_mw);
  reading.after = clock_->monotonic_now();
  if (code_ == kNvmlSuccess && power_mw == kNvmlNoValue32) {
    code_ = kNvmlNotSupported;
  }
  reading.raw = power_mw;
  reading.status = read_status_of(code_);
  return reading;
}

RawReading NvmlPower::read_field() noexcept {
  NvmlFieldValue field;
  field.field_id = field_of(kind_);
  field.scope_id = scope_;
  RawReading reading;
  reading.before = clock_->monotonic_now();
  code_ = nvml_call(nvml_->field_values, device_, 1, &field);
  reading.after = clock_->monotonic_now();
  const Nanoseconds wall_offset = clock_->wall_now() - reading.after;
  if (code_ == kNvmlSuccess) {
    code_ = field.code;
  }
  const auto value = code_ == kNvmlSuccess ? whole_number(field) : std::nullopt;
  if (!value) {
    code_ = code_ == kNvmlSuccess ? kNvmlNotSupported : code_;
    reading.status = read_status_of(code_);
    return reading;
  }
  if (field.timestamp_us == last_timestamp_us_ && last_.status == ReadStatus::kOk) {
    return last_;
  }
  constexpr std::int64_t kMostMicroseconds = INT64_MAX / 1000;
  const bool has_time = field.timestamp_us > 0 && field.timestamp_us < kMostMicroseconds;
  const Nanoseconds taken = std::chrono::microseconds(has_time ? field.timestamp_us : 0);
  const Nanoseconds time = taken - wall_offset;
  if (!has_time || time > reading.after + kClockGrain || time < reading.before - kOldestSample) {
    return reading;
  }
  last_timestamp_us_ = field.timestamp_us;
  reading.status = ReadStatus::kOk;
  reading.raw = *value;
  reading.before = std::min(time, reading.after);
  reading.after = reading.before;
  last_ = reading;
  return reading;
}

}  // namespace joulescale
