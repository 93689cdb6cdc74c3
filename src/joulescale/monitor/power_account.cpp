// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/power_account.h"

#include <algorithm>
#include <cmath>

namespace joulescale {
namespace {

constexpr Nanoseconds kLongestInterval = std::chrono::seconds(2);
constexpr double kTwoSided95 = 1.96;

}  // namespace

PowerAccount::PowerAccount(const Channel& channel, Nanoseconds sample_period)
    : watts_per_raw_(si_per_raw_unit(channel.unit)),
      plausible_power_(channel.plausible_power),
      sample_period_(sample_period) {}

void PowerAccount::add(const RawReading& reading) {
  const Watts power(static_cast<double>(reading.raw) * watts_per_raw_);
  if (reading.status != ReadStatus::kOk || power > plausible_power_) {
    ++events_.missed;
    events_.gone = events_.gone || reading.status == ReadStatus::kGone;
    return;
  }
  ++events_.samples;
  const Sample sample{reading.before + (reading.after - reading.before) / 2, power};
  if (last_ && sample.time <= last_->time) {
    return;
  }
  if (last_) {
    const Seconds length = to_seconds(sample.time - last_->time);
    const Joules piece = (last_->power + sample.power) / 2.0 * length;
    energy_ += piece;
    // Between two samples the power is somewhere between them: a uniform distribution.
    const double spread = std::abs(((sample.power - last_->power) * length).value());
    interval_variance_j2_ += spread * spread / 12.0;
    if (sample.time - last_->time > std::max(kLongestInterval, 5 * sample_period_)) {
      ++events_.gaps;
      gap_uncertainty_ += piece;
    }
  }
  highest_ = std::max(highest_, power);
  last_ = sample;
  curve_.append(sample.time, energy_);
}

void PowerAccount::close(Nanoseconds end) {
  if (!last_ || end <= last_->time || events_.gone ||
      end - last_->time > std::max(kLongestInterval, 5 * sample_period_)) {
    return;
  }
  energy_ += last_->power * to_seconds(end - last_->time);
  curve_.append(end, energy_);
}

std::optional<WindowEnergy> PowerAccount::window(Nanoseconds begin, Nanoseconds end) const {
  if (curve_.size() < 2 || curve_.back().time <= begin) {
    return std::nullopt;
  }
  WindowEnergy result;
  result.energy = curve_.at(end) - curve_.at(begin);
  result.unseen = std::max(curve_.front().time - begin, Nanoseconds(0));
  const Nanoseconds not_covered = std::max(end - curve_.back().time, Nanoseconds(0));
  result.uncertainty = Joules(kTwoSided95 * std::sqrt(interval_variance_j2_)) +
                       highest_ * to_seconds(sample_period_ + not_covered + result.unseen) +
                       gap_uncertainty_;
  return result;
}

}  // namespace joulescale
