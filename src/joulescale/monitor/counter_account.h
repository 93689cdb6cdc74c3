// SPDX-License-Identifier: Apache-2.0
// Energy out of an energy counter: differences of raw readings, with wraps, resets, glitches and
// gaps told apart. The method and its uncertainty: docs/measurement-method.md.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "joulescale/monitor/account_state.h"
#include "joulescale/monitor/energy_curve.h"
#include "joulescale/monitor/tick_period.h"
#include "joulescale/sensors/sensor.h"

namespace joulescale {

/// Energy of a channel between two times.
struct WindowEnergy {
  Joules energy;
  Joules uncertainty;     // half-width of the 95 % interval of the reading
  Nanoseconds unseen{0};  // from the window's begin to the first reading, if that came later
};

/// What a device may have used at most in a time of which nothing was read, by its channel's
/// plausible power: its power limit, and a quarter more. The power before or after is no bound.
Joules unseen_energy(Watts plausible_power, Nanoseconds length);

/// Feed it every reading of one kEnergy channel, in time order.
class CounterAccount {
 public:
  /// `sample_period`: how often the channel is read; bounds the update period where the sensor
  /// does not know it.
  CounterAccount(const Channel& channel, Nanoseconds sample_period);

  /// The first value gives no energy; a reading without a value is a missing value, never 0.
  void add(const RawReading& reading);

  CounterState state() const;
  /// Stands for the readings between two states of an account of this channel, which this account
  /// was not given: it goes on where `to` stands.
  void skip(const CounterState& from, const CounterState& to);

  /// Ends the account: after it the curve reaches `end` where the counter's last move allows that.
  void close(Nanoseconds end);
  /// After close(). Nothing if the counter did not move enough to tell the power: twice, or once
  /// where the sensor knows its period.
  std::optional<WindowEnergy> window(Nanoseconds begin, Nanoseconds end) const;

  const EnergyCurve& curve() const { return curve_; }
  EnergyCurve& curve() { return curve_; }
  const ChannelEvents& events() const { return state_.events; }
  /// The time in which the counter moves once, as the sensor or the readings show it.
  std::optional<Nanoseconds> update_period() const;
  /// The longest that the counter is known to rest between two moves.
  Nanoseconds resolution() const;
  /// After close(): the time before the end of which the counter tells nothing, since a move was
  /// due that did not come, or it gave no more values.
  Nanoseconds untold() const { return std::max(overdue_, not_covered_); }
  /// The longest time for which readings showed one and the same value.
  Nanoseconds longest_rest() const { return std::max(state_.longest_rest, present_rest()); }
  /// The begin of the last reading that showed the value before the present one.
  Nanoseconds moved_after() const { return state_.moved_after; }
  /// After close(): how far the energy is off if the device took this power since the last move.
  Joules end_doubt(Watts power) const;
  /// What happens within such a time the curve cannot tell apart.
  Nanoseconds time_scale() const { return std::max(resolution(), sample_period_); }

 private:
  using Value = CounterValue;
  /// The value before a reset, and the energy up to it.
  struct Replaced {
    Value value;
    Joules energy;
    Nanoseconds hidden{0};
  };

  void take_base(const Value& value);
  bool advance(const Value& value);
  void move_to(const Value& value);
  void reset_to(const Value& value);
  bool is_usual(std::uint64_t delta, Nanoseconds since_read) const;
  void note_stray(const Value& stray, const Value& base, const Value& value);
  bool is_back(const Value& value, std::uint64_t delta, Nanoseconds since_read) const;
  bool falls_back(const Value& value);
  void go_back(const Value& value);
  bool follows(const Value& old, const Value& value) const;
  void refine_front();
  Nanoseconds present_rest() const;
  Nanoseconds usual_rest() const;
  void find_untold(Nanoseconds end);
  void learn_period(const Value& value);
  std::optional<Nanoseconds> longest_period() const;
  std::uint64_t extra_wraps(std::uint64_t delta, Seconds elapsed);
  Nanoseconds lag(Nanoseconds since_seen, Nanoseconds reading_took = Nanoseconds(0)) const;
  Joules joules(std::uint64_t raw) const;

  double joules_per_raw_;
  std::optional<std::uint64_t> range_;
  std::optional<Nanoseconds> known_period_;
  Watts plausible_power_;
  std::uint64_t least_moves_;  // that tell a power
  Nanoseconds sample_period_;

  CounterState state_;  // but for the curve's end and the period, which state() asks for
  TickPeriod ticks_;
  std::optional<Replaced> replaced_;  // by the last reset, of some seconds ago
  Nanoseconds first_read_{0};
  Nanoseconds extrapolated_{0};
  Watts end_power_;   // the mean before the end, by which it was
  Watts end_spread_;  // how far single moves were off it
  Nanoseconds overdue_{0};
  Nanoseconds unread_{0};       // at the end: since the last reading that gave a value
  Nanoseconds not_covered_{0};  // at the end: beyond what the last move allows
  EnergyCurve curve_;
};

}  // namespace joulescale
