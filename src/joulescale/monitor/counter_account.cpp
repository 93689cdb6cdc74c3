// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/counter_account.h"

#include <algorithm>
#include <cmath>

namespace joulescale {
namespace {

/// The power between the last move of a counter and the end of the window is taken to differ by up
/// to this share from the power just before.
constexpr double kExtrapolationPowerShare = 0.25;
/// Shorter intervals are judged as if they had this length: clocks and readings have some grain.
constexpr Nanoseconds kLeastJudgedInterval = std::chrono::milliseconds(2);
/// A counter that rests for longer than this many update periods is not extrapolated further.
constexpr int kMostPeriodsExtrapolated = 3;

}  // namespace

CounterAccount::CounterAccount(const Channel& channel, Nanoseconds sample_period)
    : joules_per_raw_(si_per_raw_unit(channel.unit)),
      range_(channel.counter_range),
      known_period_(channel.update_period),
      plausible_power_(channel.plausible_power),
      sample_period_(sample_period) {}

Joules CounterAccount::joules(std::uint64_t raw) const {
  return Joules(static_cast<double>(raw) * joules_per_raw_);
}

Nanoseconds CounterAccount::lag(Nanoseconds since_seen) const {
  return (known_period_ ? std::min(*known_period_, since_seen) : since_seen) / 2;
}

void CounterAccount::take_base(const Value& value) {
  last_ = value;
  last_lag_ = lag(sample_period_);
  change_seen_ = value.before - 2 * last_lag_;
  curve_.append(value.after - last_lag_, energy_);
}

void CounterAccount::add(const RawReading& reading) {
  if (reading.status != ReadStatus::kOk) {
    ++events_.missed;
    events_.gone = events_.gone || reading.status == ReadStatus::kGone;
    return;
  }
  ++events_.samples;
  const Value value{reading.raw, reading.before, reading.after};
  if (!last_) {
    take_base(value);
    return;
  }
  if (advance(value)) {
    if (suspect_) {  // one stray value between two that fit
      ++events_.missed;
      suspect_.reset();
    }
    return;
  }
  if (!suspect_) {
    suspect_ = value;
    return;
  }
  reset_to(*suspect_);
  suspect_.reset();
  if (!advance(value)) {
    suspect_ = value;
  }
}

/// Adds the difference from the last value; false if `value` cannot follow it.
bool CounterAccount::advance(const Value& value) {
  if (value.raw == last_->raw) {
    ++unchanged_;
    longest_rest_ = std::max(longest_rest_, value.before - last_->after);
    last_->before = value.before;
    return true;
  }
  const bool fell = value.raw < last_->raw;
  if (fell && (!range_ || last_->raw > *range_)) {
    return false;
  }
  std::uint64_t delta = fell ? *range_ - last_->raw + value.raw : value.raw - last_->raw;
  const Seconds elapsed = to_seconds(std::max(value.after - change_seen_, kLeastJudgedInterval));
  if (joules(delta) > plausible_power_ * elapsed + joules(1)) {
    return false;
  }
  events_.wraps += fell ? 1 : 0;
  if (range_) {
    const std::uint64_t more = extra_wraps(delta, elapsed);
    events_.wraps += more;
    delta += more * *range_;
  }
  energy_ += joules(delta);
  last_lag_ = lag(value.after - last_->before);
  change_seen_ = last_->before;
  curve_.append(value.after - last_lag_, energy_);
  if (changes_++ == 0) {
    first_change_ = value.after;
  }
  last_change_ = value.after;
  last_ = value;
  return true;
}

/// How often the counter went round unseen: possible when the gap is long enough at the plausible
/// power. The mean power so far decides; the doubt of one round goes into the uncertainty.
std::uint64_t CounterAccount::extra_wraps(std::uint64_t delta, Seconds elapsed) {
  const Joules range = joules(*range_);
  const double most = std::floor((plausible_power_ * elapsed - joules(delta)) / range);
  if (most < 1.0) {
    return 0;
  }
  ++events_.ambiguous;
  extra_uncertainty_ += range;
  const Joules expected = curve_.recent_power() * elapsed;
  const double rounds = std::clamp(std::round((expected - joules(delta)) / range), 0.0, most);
  return static_cast<std::uint64_t>(rounds);
}

/// A new start of the counter: the interval's energy is unknown and not guessed; what it may have
/// been is in the uncertainty.
void CounterAccount::reset_to(const Value& value) {
  ++events_.resets;
  extra_uncertainty_ += curve_.recent_power() *
                        to_seconds(std::max(value.after - curve_.back().time, Nanoseconds(0)));
  last_ = value;
  last_lag_ = lag(sample_period_);
  change_seen_ = value.before - 2 * last_lag_;
  curve_.append(value.after, energy_);
}

void CounterAccount::close(Nanoseconds end) {
  if (suspect_) {
    reset_to(*suspect_);
    suspect_.reset();
  }
  if (curve_.size() < 2 || end <= curve_.back().time) {
    return;
  }
  const Nanoseconds rest = end - curve_.back().time;
  const Nanoseconds limit = kMostPeriodsExtrapolated * std::max(resolution(), sample_period_);
  const Watts power = curve_.recent_power();
  if (events_.gone || rest > limit) {
    not_covered_ = rest;
    return;
  }
  extrapolated_ = rest;
  energy_ += power * to_seconds(rest);
  curve_.append(end, energy_);
}

std::optional<WindowEnergy> CounterAccount::window(Nanoseconds begin, Nanoseconds end) const {
  if (changes_ == 0 || curve_.back().time <= begin) {
    return std::nullopt;
  }
  WindowEnergy result;
  result.energy = curve_.at(end) - curve_.at(begin);
  result.unseen = std::max(curve_.front().time - begin, Nanoseconds(0));

  // A move is known to lie between two readings, or within one update period; the one before the
  // first reading may be as old as the counter ever rested.
  const Nanoseconds half_interval = lag(sample_period_);
  const auto edge = [&](Nanoseconds time) {
    const auto points = curve_.points();
    const std::size_t next = std::max(curve_.first_after(time), std::size_t{1});
    if (next >= points.size()) {
      return Joules(0.0);
    }
    const Nanoseconds to_point =
        std::max(Nanoseconds(0), std::min(time - points[next - 1].time, points[next].time - time));
    const Watts power = std::max(curve_.segment_power(next), curve_.segment_power(next + 1));
    const Nanoseconds move =
        next == 1 ? std::max(half_interval, resolution() - half_interval) : half_interval;
    return power * to_seconds(move + to_point);
  };
  const Watts last_power = curve_.recent_power();
  Joules at_end = edge(end);
  if (extrapolated_ > Nanoseconds(0) || not_covered_ > Nanoseconds(0)) {
    at_end = last_power * to_seconds(last_lag_) +
             last_power * to_seconds(extrapolated_) * kExtrapolationPowerShare +
             last_power * to_seconds(not_covered_);
  }
  result.uncertainty = edge(begin) + at_end + extra_uncertainty_ + joules(1) +
                       curve_.segment_power(1) * to_seconds(result.unseen);
  return result;
}

std::optional<Nanoseconds> CounterAccount::update_period() const {
  if (known_period_) {
    return known_period_;
  }
  // The readings show the period only where the counter often rested between two of them.
  if (changes_ >= 4 && unchanged_ >= changes_) {
    return (last_change_ - first_change_) / static_cast<std::int64_t>(changes_ - 1);
  }
  return std::nullopt;
}

Nanoseconds CounterAccount::resolution() const {
  return std::max(known_period_.value_or(sample_period_), longest_rest_);
}

}  // namespace joulescale
