// SPDX-License-Identifier: Apache-2.0
// Where an account stands: everything that it knows but the shape of its energy curve. Two states
// of one account tell what happened between them without the readings, so that old readings can be
// dropped and the totals stay exact.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "joulescale/base/clock.h"
#include "joulescale/base/frame_log.h"
#include "joulescale/base/units.h"

namespace joulescale {

/// By how much a sum grew from one state to a later one; nothing, if a damaged file makes it
/// shrink.
template <typename T>
T increase(T from, T to) {
  return to > from ? to - from : T{};
}

/// What befell a channel while it was read.
struct ChannelEvents {
  std::uint64_t samples = 0;  // readings with a value
  std::uint64_t missed = 0;   // readings without one, and values that were not believed
  std::uint64_t wraps = 0;
  std::uint64_t resets = 0;
  std::uint64_t ambiguous = 0;  // gaps in which the number of wraps is a guess
  std::uint64_t gaps = 0;       // power only: stretches too long to integrate with confidence
  bool gone = false;            // the device was lost

  /// Adds what happened from one state to a later one.
  void add_between(const ChannelEvents& from, const ChannelEvents& to);
};

struct CounterValue {
  std::uint64_t raw = 0;
  Nanoseconds before{0};  // of the latest reading that gave it
  Nanoseconds after{0};   // of the first reading that gave it
};

struct CounterState {
  Joules energy;
  Joules extra_uncertainty;  // ambiguous wraps, intervals lost to resets
  Nanoseconds hidden{0};     // the length of these intervals
  ChannelEvents events;
  std::uint64_t changes = 0;
  std::uint64_t unchanged = 0;          // readings that showed no move
  std::optional<CounterValue> last;     // the value on which differences build
  std::optional<CounterValue> suspect;  // a value that cannot follow it; the next one decides
  Nanoseconds change_seen{0};           // the last move is not older than this
  Nanoseconds moved_after{0};           // begin of the reading before the one that showed it
  Nanoseconds last_lag{0};              // half the time in which the last move may have been
  Nanoseconds first_change{0};
  Nanoseconds last_change{0};
  Nanoseconds longest_rest{0};                // seen without a move, until one came
  std::optional<Nanoseconds> period_at_most;  // learned from the readings
  std::optional<Nanoseconds> period_mean;
  Nanoseconds curve_end{0};  // the time to which `energy` belongs
};

struct PowerSample {
  Nanoseconds time{0};
  Watts power;
};

struct PowerState {
  Joules energy;
  double changes_w2 = 0.0;  // sum of the squares of changes between samples
  double changes_j2 = 0.0;  // the same, each times its interval
  Joules gap_uncertainty;
  ChannelEvents events;
  std::optional<PowerSample> last;
  Watts lowest;
  Watts highest;
  std::optional<Nanoseconds> last_change;
  std::optional<Nanoseconds> shortest_rest;  // between two changes
  Nanoseconds longest_rest{0};
};

struct MetricSample {
  Nanoseconds time{0};
  std::uint64_t raw = 0;
};

/// Since the begin that the account was told; in raw units.
struct MetricState {
  std::uint64_t samples = 0;
  std::uint64_t least = 0;
  std::uint64_t highest = 0;
  double weighted_sum = 0.0;  // times seconds
  double weight_s = 0.0;
  std::vector<double> bit_weight_s;  // of a bit mask: as many as it has bits
  std::uint64_t difference = 0;
  Nanoseconds counter_begin{0};
  std::optional<MetricSample> last;
};

/// A channel's account and what its meter notes beside it.
struct ChannelState {
  std::variant<CounterState, PowerState, MetricState> account;
  std::uint64_t missed_ticks = 0;
  Nanoseconds last_read{0};
  Nanoseconds longest_gap{0};

  /// When the account was given its last value; 0 if it was given none.
  Nanoseconds last_value() const;
};

/// Lets an account go from one state to a later one: false, and nothing done, for states of another
/// kind of account.
template <typename Account>
bool skip_account(Account& account, const ChannelState& from, const ChannelState& to) {
  using State = decltype(account.state());
  const auto* const a = std::get_if<State>(&from.account);
  const auto* const b = std::get_if<State>(&to.account);
  if (a == nullptr || b == nullptr) {
    return false;
  }
  account.skip(*a, *b);
  return true;
}

/// As a part of a frame's payload.
void put_state(PayloadWriter& out, const ChannelState& state);
/// Nothing for content that no writer makes.
std::optional<ChannelState> get_state(PayloadReader& in);

}  // namespace joulescale
