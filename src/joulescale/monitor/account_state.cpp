// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/account_state.h"

#include <bit>

namespace joulescale {
namespace {

constexpr std::uint8_t kCounterKind = 0;
constexpr std::uint8_t kPowerKind = 1;
constexpr std::uint8_t kMetricKind = 2;
constexpr std::uint64_t kMostBits = 64;
constexpr double kLargest = 1e30;                        // sums stay finite
constexpr std::int64_t kLatest = std::int64_t{1} << 59;  // 18 years: sums cannot overflow

void put(PayloadWriter& out, double value) { out.u64(std::bit_cast<std::uint64_t>(value)); }

void put(PayloadWriter& out, Nanoseconds time) { out.zigzag(time.count()); }

void put(PayloadWriter& out, const ChannelEvents& events) {
  out.varint(events.samples)
      .varint(events.missed)
      .varint(events.wraps)
      .varint(events.resets)
      .varint(events.ambiguous)
      .varint(events.gaps)
      .u8(events.gone ? 1 : 0);
}

void put(PayloadWriter& out, const std::optional<CounterValue>& value) {
  out.u8(value ? 1 : 0);
  if (value) {
    out.varint(value->raw);
    put(out, value->before);
    put(out, value->after);
  }
}

void put(PayloadWriter& out, const std::optional<Nanoseconds>& time) {
  out.u8(time ? 1 : 0);
  put(out, time.value_or(Nanoseconds(0)));
}

void put(PayloadWriter& out, const CounterState& state) {
  put(out, state.energy.value());
  put(out, state.extra_uncertainty.value());
  put(out, state.hidden);
  put(out, state.events);
  out.varint(state.changes).varint(state.unchanged);
  put(out, state.last);
  put(out, state.suspect);
  for (const Nanoseconds time : {state.change_seen,
                                 state.moved_after,
                                 state.last_lag,
                                 state.first_change,
                                 state.last_change,
                                 state.longest_rest,
                                 state.curve_end}) {
    put(out, time);
  }
  put(out, state.period_at_most);
  put(out, state.period_mean);
}

void put(PayloadWriter& out, const PowerState& state) {
  put(out, state.energy.value());
  put(out, state.changes_w2);
  put(out, state.changes_j2);
  put(out, state.gap_uncertainty.value());
  put(out, state.events);
  out.u8(state.last ? 1 : 0);
  if (state.last) {
    put(out, state.last->time);
    put(out, state.last->power.value());
  }
  put(out, state.lowest.value());
  put(out, state.highest.value());
  put(out, state.last_change);
  put(out, state.shortest_rest);
  put(out, state.longest_rest);
}

void put(PayloadWriter& out, const MetricState& state) {
  out.varint(state.samples).varint(state.least).varint(state.highest);
  put(out, state.weighted_sum);
  put(out, state.weight_s);
  out.varint(state.bit_weight_s.size());
  for (const double weight_s : state.bit_weight_s) {
    put(out, weight_s);
  }
  out.varint(state.difference);
  put(out, state.counter_begin);
  out.u8(state.last ? 1 : 0);
  if (state.last) {
    put(out, state.last->time);
    out.varint(state.last->raw);
  }
}

/// Values that no writer makes turn `ok` false.
class StateReader {
 public:
  explicit StateReader(PayloadReader& in) : in_(in) {}

  /// Joules, watts and their squares: none is negative.
  double number() {
    const auto value = std::bit_cast<double>(in_.u64());
    ok_ = ok_ && value >= 0.0 && value <= kLargest;
    return ok_ ? value : 0.0;
  }
  Nanoseconds time() {
    const std::int64_t value = in_.zigzag();
    ok_ = ok_ && value >= -kLatest && value <= kLatest;
    return Nanoseconds(ok_ ? value : 0);
  }
  std::optional<Nanoseconds> optional_time() {
    const bool given = flag();
    const Nanoseconds read = time();
    return given ? std::optional(read) : std::nullopt;
  }
  std::uint64_t count() { return in_.varint(); }
  bool flag() {
    const std::uint8_t value = in_.u8();
    ok_ = ok_ && value <= 1;
    return value == 1;
  }
  bool ok() const { return ok_ && in_.ok(); }

  ChannelEvents events() {
    ChannelEvents events;
    for (std::uint64_t* value : {&events.samples,
                                 &events.missed,
                                 &events.wraps,
                                 &events.resets,
                                 &events.ambiguous,
                                 &events.gaps}) {
      *value = count();
    }
    events.gone = flag();
    return events;
  }
  std::optional<CounterValue> counter_value() {
    if (!flag()) {
      return std::nullopt;
    }
    CounterValue value;
    value.raw = count();
    value.before = time();
    value.after = time();
    return value;
  }
  CounterState counter() {
    CounterState state;
    state.energy = Joules(number());
    state.extra_uncertainty = Joules(number());
    state.hidden = time();
    state.events = events();
    state.changes = count();
    state.unchanged = count();
    state.last = counter_value();
    state.suspect = counter_value();
    for (Nanoseconds* value : {&state.change_seen,
                               &state.moved_after,
                               &state.last_lag,
                               &state.first_change,
                               &state.last_change,
                               &state.longest_rest,
                               &state.curve_end}) {
      *value = time();
    }
    state.period_at_most = optional_time();
    state.period_mean = optional_time();
    return state;
  }
  PowerState power() {
    PowerState state;
    state.energy = Joules(number());
    state.changes_w2 = number();
    state.changes_j2 = number();
    state.gap_uncertainty = Joules(number());
    state.events = events();
    if (flag()) {
      state.last.emplace();
      state.last->time = time();
      state.last->power = Watts(number());
    }
    state.lowest = Watts(number());
    state.highest = Watts(number());
    state.last_change = optional_time();
    state.shortest_rest = optional_time();
    state.longest_rest = time();
    return state;
  }
  MetricState metric() {
    MetricState state;
    state.samples = count();
    state.least = count();
    state.highest = count();
    state.weighted_sum = number();
    state.weight_s = number();
    const std::uint64_t num_bits = count();
    ok_ = ok_ && num_bits <= kMostBits;
    for (std::uint64_t bit = 0; ok_ && bit < num_bits; ++bit) {
      state.bit_weight_s.push_back(number());
    }
    state.difference = count();
    state.counter_begin = time();
    if (flag()) {
      state.last.emplace();
      state.last->time = time();
      state.last->raw = count();
    }
    return state;
  }

 private:
  PayloadReader& in_;
  bool ok_ = true;
};

}  // namespace

void ChannelEvents::add_between(const ChannelEvents& from, const ChannelEvents& to) {
  samples += increase(from.samples, to.samples);
  missed += increase(from.missed, to.missed);
  wraps += increase(from.wraps, to.wraps);
  resets += increase(from.resets, to.resets);
  ambiguous += increase(from.ambiguous, to.ambiguous);
  gaps += increase(from.gaps, to.gaps);
  gone = gone || to.gone;
}

Nanoseconds ChannelState::last_value() const {
  if (const auto* counter = std::get_if<CounterState>(&account)) {
    return counter->last ? counter->last->before : Nanoseconds(0);
  }
  const auto& power = std::get<PowerState>(account);
  return power.last ? power.last->time : Nanoseconds(0);
}

void put_state(PayloadWriter& out, const ChannelState& state) {
  static_assert(std::variant_size_v<decltype(state.account)> == kMetricKind + 1);
  out.u8(static_cast<std::uint8_t>(state.account.index()));
  std::visit([&](const auto& account) { put(out, account); }, state.account);
  out.varint(state.missed_ticks);
  put(out, state.last_read);
  put(out, state.longest_gap);
}

std::optional<ChannelState> get_state(PayloadReader& in) {
  StateReader reader(in);
  ChannelState state;
  switch (in.u8()) {
    case kCounterKind:
      state.account = reader.counter();
      break;
    case kPowerKind:
      state.account = reader.power();
      break;
    case kMetricKind:
      state.account = reader.metric();
      break;
    default:
      return std::nullopt;
  }
  state.missed_ticks = reader.count();
  state.last_read = reader.time();
  state.longest_gap = reader.time();
  return reader.ok() ? std::optional(state) : std::nullopt;
}

}  // namespace joulescale
