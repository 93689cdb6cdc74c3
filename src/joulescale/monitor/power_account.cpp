// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/power_account.h"

#include <algorithm>
#include <cmath>

namespace joulescale {
namespace {

constexpr Nanoseconds kLongestInterval = std::chrono::seconds(2);
constexpr double kTwoSided95 = 1.96;
/// Where samples are missing the power is taken to differ by up to this share from the straight
/// line between those that are there.
constexpr double kUnseenPowerShare = 0.25;
constexpr int kMostPeriodsSeen = 3;
/// Gauges of GPUs and boards are refreshed within this time (docs/measurement-method.md).
constexpr Nanoseconds kLongestRefresh = std::chrono::seconds(1);

}  // namespace

PowerAccount::PowerAccount(const Channel& channel, Nanoseconds sample_period)
    : watts_per_raw_(si_per_raw_unit(channel.unit)),
      plausible_power_(channel.plausible_power),
      averaging_(channel.averaging),
      sample_period_(sample_period) {}

void PowerAccount::add(const RawReading& reading) {
  const Watts power(static_cast<double>(reading.raw) * watts_per_raw_);
  if (reading.status != ReadStatus::kOk || power > plausible_power_) {
    ++state_.events.missed;
    state_.events.gone = state_.events.gone || reading.status == ReadStatus::kGone;
    return;
  }
  const PowerSample sample{reading.middle(), power};
  if (state_.last && sample.time <= state_.last->time) {
    return;  // the same sample again: the source was not refreshed since
  }
  ++state_.events.samples;
  if (state_.last) {
    const Seconds length = to_seconds(sample.time - state_.last->time);
    const Joules piece = (state_.last->power + sample.power) / 2.0 * length;
    state_.energy += piece;
    note_change(sample, length);
    if (sample.time - state_.last->time > std::max(kLongestInterval, 5 * sample_period_)) {
      ++state_.events.gaps;
      state_.gap_uncertainty +=
          std::max(piece, unseen_energy(plausible_power_, sample.time - state_.last->time) - piece);
    } else if (sample.time - state_.last->time > kMostPeriodsSeen * sample_period_) {
      state_.gap_uncertainty += piece * kUnseenPowerShare;
    }
  }
  state_.lowest = state_.last ? std::min(state_.lowest, power) : power;
  state_.highest = std::max(state_.highest, power);
  state_.last = sample;
  curve_.append(sample.time, state_.energy);
}

void PowerAccount::skip(const PowerState& from, const PowerState& to) {
  state_.events.add_between(from.events, to.events);
  if (!to.last) {
    return;
  }
  state_.energy += increase(from.energy, to.energy);
  state_.changes_w2 += increase(from.changes_w2, to.changes_w2);
  state_.changes_j2 += increase(from.changes_j2, to.changes_j2);
  state_.gap_uncertainty += increase(from.gap_uncertainty, to.gap_uncertainty);
  state_.lowest = state_.last ? std::min(state_.lowest, to.lowest) : to.lowest;
  state_.highest = std::max(state_.highest, to.highest);
  state_.last = to.last;
  state_.last_change = to.last_change;
  state_.shortest_rest = to.shortest_rest;
  state_.longest_rest = to.longest_rest;
  if (curve_.empty() || to.last->time > curve_.back().time) {
    curve_.append(to.last->time, state_.energy);
  }
}

/// Samples of a power that changes faster than it is sampled scatter about its mean: half the mean
/// square of successive differences is their variance (von Neumann 1941), and so is the power's in
/// each interval. A slow power changes little from sample to sample, and this adds little.
void PowerAccount::note_change(const PowerSample& sample, Seconds length) {
  if (sample.power == state_.last->power) {
    return;
  }
  const double change_w = (sample.power - state_.last->power).value();
  state_.changes_w2 += change_w * change_w;
  state_.changes_j2 += change_w * change_w * length.value() * length.value();
  const Nanoseconds rest = sample.time - state_.last_change.value_or(curve_.front().time);
  state_.longest_rest = std::max(state_.longest_rest, rest);
  if (state_.last_change) {
    state_.shortest_rest = std::min(state_.shortest_rest.value_or(rest), rest);
  }
  state_.last_change = sample.time;
}

/// How old a sample's value may be: the source refreshes it at its own pace, which shows in how
/// long the value rests. One complete rest is needed; before, all that was seen may be one.
Nanoseconds PowerAccount::refresh_period() const {
  if (!state_.last_change) {
    return Nanoseconds(0);
  }
  const Nanoseconds seen = state_.shortest_rest.value_or(
      std::max(state_.longest_rest, state_.last->time - *state_.last_change));
  return std::clamp(seen, sample_period_, std::max(kLongestRefresh, sample_period_));
}

/// A value that never changed in a window shorter than the longest refresh may be older than the
/// window and say nothing of it: anything up to the device's limit may have been used.
Joules PowerAccount::stale_uncertainty(Nanoseconds length) const {
  const bool may_be_stale = !state_.last_change && length < kLongestRefresh;
  return may_be_stale ? unseen_energy(plausible_power_, length) : Joules(0.0);
}

/// A mean over the last `averaging_` follows half of that late, so that a step between the powers
/// seen is off by their difference times that half; within a shorter window the mean shows only
/// part of a step.
Joules PowerAccount::averaging_uncertainty(Nanoseconds length) const {
  if (averaging_ <= Nanoseconds(0) || length <= Nanoseconds(0)) {
    return {};
  }
  const double part_seen = std::min(to_seconds(length) / to_seconds(averaging_), 1.0);
  return (state_.highest - state_.lowest) / part_seen *
         to_seconds(std::min(averaging_ / 2, length));
}

std::optional<Watts> PowerAccount::power_after(Nanoseconds time) const {
  return state_.last && state_.last->time > time ? std::optional(state_.last->power) : std::nullopt;
}

void PowerAccount::close(Nanoseconds end) {
  if (!state_.last || end <= state_.last->time || state_.events.gone ||
      end - state_.last->time > std::max(kLongestInterval, 5 * sample_period_)) {
    return;
  }
  const Nanoseconds rest = end - state_.last->time;
  const Seconds rest_s = to_seconds(rest);
  if (rest > std::max(kMostPeriodsSeen * sample_period_, refresh_period())) {
    state_.gap_uncertainty += unseen_energy(plausible_power_, rest);
  } else if (rest > sample_period_) {
    state_.gap_uncertainty += state_.last->power * rest_s * kUnseenPowerShare;
  }
  state_.energy += state_.last->power * rest_s;
  curve_.append(end, state_.energy);
}

std::optional<WindowEnergy> PowerAccount::window(Nanoseconds begin, Nanoseconds end) const {
  if (curve_.size() < 2 || curve_.back().time <= begin) {
    return std::nullopt;
  }
  WindowEnergy result;
  result.energy = curve_.at(end) - curve_.at(begin);
  result.unseen = std::max(curve_.front().time - begin, Nanoseconds(0));
  const Nanoseconds not_covered = std::max(end - curve_.back().time, Nanoseconds(0));
  const double refresh_s = to_seconds(refresh_period()).value();
  const double variance_j2 =
      std::max(state_.changes_w2 * refresh_s * refresh_s, state_.changes_j2) / 2.0;
  result.uncertainty = Joules(kTwoSided95 * std::sqrt(variance_j2)) +
                       state_.highest * to_seconds(sample_period_ / 2 + result.unseen) +
                       unseen_energy(plausible_power_, not_covered) + state_.gap_uncertainty +
                       stale_uncertainty(end - begin) + averaging_uncertainty(end - begin);
  return result;
}

}  // namespace joulescale
