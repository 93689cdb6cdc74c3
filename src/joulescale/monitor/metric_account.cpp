// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/metric_account.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace joulescale {
namespace {

/// Readings whose place against the end is left open: those around the command's end and, where
/// another rank's command ended last, some more.
constexpr std::size_t kMostAroundEnd = 4;
constexpr Nanoseconds kLongestInterval = std::chrono::seconds(2);

constexpr std::size_t kNumBits = 64;

MetricState nothing_counted(const Channel& channel) {
  MetricState state;
  state.bit_weight_s.resize(channel.unit == RawUnit::kBitMask ? kNumBits : 0);
  return state;
}

bool bit_is_set(std::uint64_t mask, std::size_t bit) { return ((mask >> bit) & 1U) != 0; }

}  // namespace

MetricAccount::MetricAccount(Channel channel, Nanoseconds sample_period, std::size_t most_early)
    : channel_(std::move(channel)),
      longest_interval_(std::max(kLongestInterval, 5 * sample_period)),
      most_early_(most_early),
      state_(nothing_counted(channel_)) {}

void MetricAccount::add(const RawReading& reading) {
  if (reading.status != ReadStatus::kOk) {
    return;
  }
  // A counter holds at least what was counted when its reading began: one that began before the
  // command's end may lack the last process's time.
  const bool is_counter = channel_.behavior == Behavior::kCounter;
  const Sample sample{is_counter ? reading.before : reading.middle(), reading.raw};
  if (sample.time <= last_time()) {
    return;  // two processes read the channel for a moment, or the source's own time stood still
  }
  waiting_.push_back(sample);
  if (begin_) {
    take_all_but(kMostAroundEnd);
  } else if (waiting_.size() > most_early_) {
    waiting_.pop_front();
  }
}

void MetricAccount::keep_begin(Nanoseconds begin) {
  if (begin_ && begin <= *begin_) {
    return;
  }
  const bool is_later = begin_.has_value();
  forget_before(begin);
  begin_ = begin;
  if (is_later) {
    start_anew();
  }
}

/// Drops what was counted; the last sample stays as the one before the begin, if it is that.
void MetricAccount::start_anew() {
  const std::optional<Sample> base = state_.last;
  state_ = nothing_counted(channel_);
  mean_ = 0.0;
  if (base && (waiting_.empty() || waiting_.front().time > *begin_)) {
    take(*base);
  }
}

void MetricAccount::forget_before(Nanoseconds time) {
  while (waiting_.size() > 1 && waiting_[1].time <= time) {
    waiting_.pop_front();
  }
}

Nanoseconds MetricAccount::last_time() const {
  if (!waiting_.empty()) {
    return waiting_.back().time;
  }
  return state_.last ? state_.last->time : Nanoseconds(0);
}

MetricState MetricAccount::state() const {
  MetricState state;
  if (!begin_) {
    if (!waiting_.empty()) {
      state.last = waiting_.back();
    }
    return state;
  }
  MetricAccount all = *this;
  all.take_all_but(0);
  all.state_.weighted_sum = all.mean_ * all.state_.weight_s;
  return all.state_;
}

void MetricAccount::skip(const MetricState& from, const MetricState& to) {
  if (!to.last || to.last->time <= last_time()) {
    return;
  }
  if (!begin_ || to.last->time <= *begin_) {
    waiting_.push_back(*to.last);
    if (begin_) {
      forget_before(*begin_);
    }
    return;
  }
  take_all_but(0);
  if (channel_.behavior == Behavior::kCounter && state_.samples == 0) {
    state_.counter_begin = to.counter_begin;
  }
  if (to.samples > 0) {
    state_.least = state_.samples == 0 ? to.least : std::min(state_.least, to.least);
    state_.highest = state_.samples == 0 ? to.highest : std::max(state_.highest, to.highest);
  }
  state_.samples += increase(from.samples, to.samples);
  const double weight_s = increase(from.weight_s, to.weight_s);
  if (weight_s > 0.0) {
    const double mean = increase(from.weighted_sum, to.weighted_sum) / weight_s;
    mean_ += (mean - mean_) * (weight_s / (state_.weight_s + weight_s));
    state_.weight_s += weight_s;
  }
  for (std::size_t bit = 0; bit < std::min(state_.bit_weight_s.size(), to.bit_weight_s.size());
       ++bit) {
    const double before_s = bit < from.bit_weight_s.size() ? from.bit_weight_s[bit] : 0.0;
    state_.bit_weight_s[bit] += increase(before_s, to.bit_weight_s[bit]);
  }
  state_.difference += increase(from.difference, to.difference);
  state_.last = to.last;
}

void MetricAccount::take_all_but(std::size_t num_kept) {
  while (waiting_.size() > num_kept) {
    take(waiting_.front());
    waiting_.pop_front();
  }
}

void MetricAccount::take(const Sample& sample) {
  if (channel_.behavior == Behavior::kCounter) {
    advance_counter(sample);
    return;
  }
  weigh(sample, sample.time);
  if (sample.time >= *begin_) {
    count(sample);
  }
  state_.last = sample;
}

void MetricAccount::take_beyond(const Sample& sample, Nanoseconds end) {
  if (channel_.behavior == Behavior::kCounter) {
    advance_counter(sample);
    return;
  }
  weigh(sample, end);
  if (state_.samples == 0) {
    if (state_.last) {
      count(*state_.last);
    }
    count(sample);
  }
}

void MetricAccount::count(const Sample& sample) {
  state_.least = state_.samples == 0 ? sample.raw : std::min(state_.least, sample.raw);
  state_.highest = state_.samples == 0 ? sample.raw : std::max(state_.highest, sample.raw);
  ++state_.samples;
}

void MetricAccount::advance_counter(const Sample& sample) {
  if (!state_.last || sample.time <= *begin_) {  // what was before the command is not its own
    state_ = nothing_counted(channel_);
    state_.counter_begin = sample.time;
  } else if (sample.raw > state_.last->raw) {
    state_.difference += sample.raw - state_.last->raw;
  }
  state_.last = sample;
  ++state_.samples;
}

/// Adds the stretch from the last sample to `until`, which is not after `to`. A sample outside of
/// begin and end gives way to the one inside: what the gauge was before the command is not its own.
void MetricAccount::weigh(const Sample& to, Nanoseconds until) {
  if (!state_.last || to.time - state_.last->time > longest_interval_) {
    return;
  }
  const Nanoseconds from = std::max(state_.last->time, *begin_);
  if (until <= from) {
    return;
  }
  const bool last_is_inside = state_.last->time >= *begin_;
  const bool to_is_inside = until == to.time;
  const bool is_between = last_is_inside == to_is_inside;
  const std::uint64_t first = is_between || last_is_inside ? state_.last->raw : to.raw;
  const std::uint64_t second = is_between || to_is_inside ? to.raw : state_.last->raw;
  const double seconds = to_seconds(until - from).value();
  if (channel_.unit == RawUnit::kBitMask) {
    for (std::size_t bit = 0; bit < state_.bit_weight_s.size(); ++bit) {
      state_.bit_weight_s[bit] +=
          seconds * (bit_is_set(first, bit) + bit_is_set(second, bit)) / 2.0;
    }
  } else {
    // So that the mean of equal values is just that value.
    const double mean = (static_cast<double>(first) + static_cast<double>(second)) / 2.0;
    mean_ += (mean - mean_) * (seconds / (state_.weight_s + seconds));
  }
  state_.weight_s += seconds;
}

std::optional<MetricRecord> MetricAccount::finish(Nanoseconds begin, Nanoseconds end) {
  keep_begin(begin);
  for (const Sample& sample : waiting_) {
    if (sample.time > end) {
      take_beyond(sample, end);
      break;
    }
    take(sample);
  }
  if (state_.samples == 0 && state_.last && channel_.behavior == Behavior::kGauge) {
    count(*state_.last);
  }
  if (state_.samples == 0) {
    return std::nullopt;
  }
  MetricRecord record;
  record.name = channel_.name;
  record.unit = reported_unit_name(channel_.unit);
  record.samples = state_.samples;
  if (channel_.behavior == Behavior::kCounter) {
    if (state_.last->time > state_.counter_begin) {
      record.difference = static_cast<double>(state_.difference) * si_per_raw_unit(channel_.unit);
      record.mean_rate =
          *record.difference / to_seconds(state_.last->time - state_.counter_begin).value();
    }
  } else if (channel_.unit == RawUnit::kBitMask) {
    write_bits(record);
  } else {
    write_gauge(record);
  }
  return record;
}

void MetricAccount::write_gauge(MetricRecord& record) const {
  const double unit = si_per_raw_unit(channel_.unit);
  record.minimum = static_cast<double>(state_.least) * unit;
  record.maximum = static_cast<double>(state_.highest) * unit;
  if (state_.weight_s > 0.0) {
    record.mean = mean_ * unit;
  } else if (state_.least == state_.highest) {
    record.mean = record.minimum;
  }
}

/// The named bits, and others that were set at some time.
void MetricAccount::write_bits(MetricRecord& record) const {
  for (std::size_t bit = 0; bit < state_.bit_weight_s.size() && state_.weight_s > 0.0; ++bit) {
    const auto name = channel_.inputs.find(fmt::format("{}", bit));
    if (name != channel_.inputs.end() || state_.bit_weight_s[bit] > 0.0) {
      record.bit_shares[name != channel_.inputs.end() ? name->second : fmt::format("bit_{}", bit)] =
          state_.bit_weight_s[bit] / state_.weight_s;
    }
  }
}

}  // namespace joulescale
