// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/counter_account.h"

#include <algorithm>
#include <cmath>

namespace joulescale {
namespace {

/// The power between the last move of a counter and the end of the window is taken to differ by up
/// to this share from the power just before; so is that before the first reading from that after.
constexpr double kExtrapolationPowerShare = 0.25;
/// A model has no glitches to be told by its power.
constexpr Watts kNoLimit{1e6};
/// Shorter intervals are judged as if they had this length: clocks and readings have some grain.
constexpr Nanoseconds kLeastJudgedInterval = std::chrono::milliseconds(2);
/// A counter whose period is not known may have rested for so long before its first reading.
constexpr Nanoseconds kLongestUpdatePeriod = std::chrono::seconds(1);
/// Periods differ by as much from one another, and by so little time whatever their length.
constexpr double kPeriodJitter = 1.5;
constexpr Nanoseconds kLeastJitter = std::chrono::milliseconds(4);
/// A counter that rests for longer than this many update periods is not extrapolated further.
constexpr int kMostPeriodsExtrapolated = 3;
/// A move of so many times the power so far is no usual one.
constexpr double kUnusualFactor = 5.0;
/// A counter that comes back from wrong values does so within this time.
constexpr Nanoseconds kLongestAway = std::chrono::minutes(1);

/// A device may exceed its power limit by this share for a while.
constexpr double kAboveLimitShare = 0.25;

}  // namespace

Joules unseen_energy(Watts plausible_power, Nanoseconds length) {
  return plausible_power / kPlausibleByLimit * to_seconds(length) * (1.0 + kAboveLimitShare);
}

CounterAccount::CounterAccount(const Channel& channel, Nanoseconds sample_period)
    : joules_per_raw_(si_per_raw_unit(channel.unit)),
      range_(channel.counter_range),
      known_period_(channel.update_period),
      plausible_power_(channel.provenance == Provenance::kEstimated ? kNoLimit
                                                                    : channel.plausible_power),
      // Where the period is not known, one move may hold the energy of any time before it. A model
      // moves when it is read.
      least_moves_(known_period_ || channel.provenance == Provenance::kEstimated ? 1 : 2),
      sample_period_(sample_period) {}

Joules CounterAccount::joules(std::uint64_t raw) const {
  return Joules(static_cast<double>(raw) * joules_per_raw_);
}

/// The sensor's word, or else what the moves so far allow.
std::optional<Nanoseconds> CounterAccount::longest_period() const {
  return known_period_ ? known_period_ : ticks_.at_most();
}

/// Half the time before the end of a reading in which the last move may have been: since the
/// reading before it, and not longer than one period before this reading's begin.
Nanoseconds CounterAccount::lag(Nanoseconds since_seen, Nanoseconds reading_took) const {
  const auto period = longest_period();
  return (period ? std::min(*period + reading_took, since_seen) : since_seen) / 2;
}

void CounterAccount::take_base(const Value& value) {
  state_.last = value;
  first_read_ = value.after;
  state_.last_lag = lag(sample_period_);
  state_.change_seen = value.before - known_period_.value_or(kLongestUpdatePeriod);
  curve_.append(value.after - state_.last_lag, state_.energy);
}

/// The period also tells how old the first value was at most.
void CounterAccount::learn_period(const Value& value) {
  constexpr std::uint64_t kMovesBefore = 2;
  ticks_.add_move(state_.last->before, value.after, state_.last->before > state_.last->after);
  if (state_.changes == kMovesBefore && curve_.size() == kMovesBefore + 1 && ticks_.at_most() &&
      state_.events.resets == 0) {
    curve_.move_front(first_read_ - lag(sample_period_));
  }
}

void CounterAccount::add(const RawReading& reading) {
  if (reading.status != ReadStatus::kOk) {
    ++state_.events.missed;
    state_.events.gone = state_.events.gone || reading.status == ReadStatus::kGone;
    return;
  }
  ++state_.events.samples;
  const Value value{reading.raw, reading.before, reading.after};
  if (range_ && value.raw > *range_) {
    range_.reset();  // it is not what the source says; without it a decrease is no wrap
  }
  if (!state_.last) {
    take_base(value);
    return;
  }
  const Value base = *state_.last;
  if (advance(value)) {
    if (state_.suspect) {  // one stray value between two that fit
      ++state_.events.missed;
      note_stray(*state_.suspect, base, value);
      state_.suspect.reset();
    }
    return;
  }
  if (!state_.suspect) {
    state_.suspect = value;
    return;
  }
  reset_to(*state_.suspect);
  state_.suspect.reset();
  if (!advance(value)) {
    state_.suspect = value;
  }
}

/// Whether the power so far explains such a move since a reading `since_read` ago.
bool CounterAccount::is_usual(std::uint64_t delta, Nanoseconds since_read) const {
  const Nanoseconds length = since_read + longest_period().value_or(sample_period_);
  const Watts power = std::max(curve_.recent_power(), curve_.mean_power());
  return joules(delta) <= kUnusualFactor * power * to_seconds(length) + joules(1);
}

/// A value below the base was passed over, since `value` follows the base. If it follows the stray
/// as well, the counter may have stepped back for good, and the step hides energy.
void CounterAccount::note_stray(const Value& stray, const Value& base, const Value& value) {
  if (stray.raw < base.raw && value.raw >= stray.raw &&
      is_usual(value.raw - stray.raw, value.after - stray.before)) {
    state_.extra_uncertainty +=
        joules(base.raw - stray.raw) + unseen_energy(plausible_power_, stray.after - base.before);
  }
}

/// Whether the counter goes on where it was before a reset, by a move that its new values do not
/// explain: they were wrong.
bool CounterAccount::is_back(const Value& value,
                             std::uint64_t delta,
                             Nanoseconds since_read) const {
  return replaced_ && follows(replaced_->value, value) && !is_usual(delta, since_read);
}

/// After a reset to a higher value: the counter falls to where it was before and goes on. The high
/// values were wrong.
bool CounterAccount::falls_back(const Value& value) {
  if (!replaced_ || replaced_->value.raw > state_.last->raw || !follows(replaced_->value, value)) {
    return false;
  }
  go_back(value);
  move_to(value);
  return true;
}

/// What was counted since the reset is not believed; what the counter moved since before it is.
void CounterAccount::go_back(const Value& value) {
  state_.energy =
      std::max(state_.energy, replaced_->energy + joules(value.raw - replaced_->value.raw));
  state_.hidden = replaced_->hidden;
  replaced_.reset();
}

/// Whether `value` can be a later one of the counter that showed `old`.
bool CounterAccount::follows(const Value& old, const Value& value) const {
  return value.after - old.before <= kLongestAway && value.raw >= old.raw &&
         joules(value.raw - old.raw) <=
             plausible_power_ * to_seconds(value.after - old.before) + joules(1);
}

/// Adds the difference from the last value; false if `value` cannot follow it.
bool CounterAccount::advance(const Value& value) {
  if (value.raw == state_.last->raw) {
    ++state_.unchanged;
    state_.last->before = value.before;
    return true;
  }
  const bool fell = value.raw < state_.last->raw;
  if (fell && (!range_ || state_.last->raw > *range_)) {
    return falls_back(value);
  }
  std::uint64_t delta =
      fell ? *range_ - state_.last->raw + value.raw : value.raw - state_.last->raw;
  const Nanoseconds since_read = value.after - state_.last->before;
  Nanoseconds since_change = std::max(value.after - state_.change_seen, kLeastJudgedInterval);
  if (fell) {  // it was seen not to have gone round until the last reading
    since_change =
        std::min(since_change, since_read + longest_period().value_or(kLongestUpdatePeriod));
  }
  const Seconds elapsed = to_seconds(since_change);
  if (joules(delta) > plausible_power_ * elapsed + joules(1)) {
    return false;
  }
  if (fell) {
    ++state_.events.wraps;
    if (!is_usual(delta, since_read)) {  // it may as well have started anew near its top
      ++state_.events.ambiguous;
      state_.extra_uncertainty += joules(delta);
    }
  }
  if (range_) {
    // What the register held was read at the last value; before that it did not go round.
    const Nanoseconds since_value = since_read + 2 * lag(sample_period_);
    const std::uint64_t more = extra_wraps(delta, std::min(elapsed, to_seconds(since_value)));
    state_.events.wraps += more;
    delta += more * *range_;
  }
  if (!fell && is_back(value, delta, since_read)) {
    go_back(value);
  } else {
    state_.energy += joules(delta);
  }
  move_to(value);
  return true;
}

/// A point of the curve, once the energy up to the value is known.
void CounterAccount::move_to(const Value& value) {
  learn_period(value);
  state_.longest_rest = longest_rest();
  state_.moved_after = state_.last->before;
  state_.last_lag = lag(value.after - state_.last->before, value.after - value.before);
  state_.change_seen = value.after - 2 * state_.last_lag;
  curve_.append(value.after - state_.last_lag, state_.energy);
  if (state_.changes++ == 0) {
    state_.first_change = value.after;
  }
  state_.last_change = value.after;
  state_.last = value;
}

/// How often the counter went round unseen: possible when the gap is long enough at the plausible
/// power. The mean power so far decides; the doubt of one round goes into the uncertainty.
std::uint64_t CounterAccount::extra_wraps(std::uint64_t delta, Seconds elapsed) {
  const Joules range = joules(*range_);
  const double most = std::floor((plausible_power_ * elapsed - joules(delta)) / range);
  if (most < 1.0) {
    return 0;
  }
  ++state_.events.ambiguous;
  state_.extra_uncertainty += range;
  const Joules expected = curve_.recent_power() * elapsed;
  const double rounds = std::clamp(std::round((expected - joules(delta)) / range), 0.0, most);
  return static_cast<std::uint64_t>(rounds);
}

/// A new start of the counter: the interval's energy is unknown and not guessed; window() has what
/// it may have been in the uncertainty.
void CounterAccount::reset_to(const Value& value) {
  ++state_.events.resets;
  const Nanoseconds hidden = std::max(value.after - curve_.back().time, Nanoseconds(0));
  replaced_ = Replaced{*state_.last, state_.energy, state_.hidden};
  state_.hidden += hidden;
  ticks_.interrupt();
  state_.longest_rest = longest_rest();
  state_.moved_after = state_.last->before;
  state_.last = value;
  state_.last_lag = lag(sample_period_);
  state_.change_seen = value.before - known_period_.value_or(kLongestUpdatePeriod);
  curve_.append(value.after, state_.energy);
}

CounterState CounterAccount::state() const {
  CounterState state = state_;
  state.period_at_most = ticks_.at_most();
  state.period_mean = ticks_.mean();
  state.curve_end = curve_.empty() ? Nanoseconds(0) : curve_.back().time;
  return state;
}

void CounterAccount::skip(const CounterState& from, const CounterState& to) {
  if (!to.last) {
    state_.events.add_between(from.events, to.events);
    return;
  }
  if (state_.changes == 0) {
    state_.first_change = to.first_change;
  }
  state_.energy += increase(from.energy, to.energy);
  state_.extra_uncertainty += increase(from.extra_uncertainty, to.extra_uncertainty);
  state_.hidden += increase(from.hidden, to.hidden);
  state_.events.add_between(from.events, to.events);
  state_.changes += increase(from.changes, to.changes);
  state_.unchanged += increase(from.unchanged, to.unchanged);
  replaced_.reset();
  state_.last = to.last;
  state_.suspect = to.suspect;
  state_.change_seen = to.change_seen;
  state_.moved_after = to.moved_after;
  state_.last_lag = to.last_lag;
  state_.last_change = to.last_change;
  state_.longest_rest = std::max(state_.longest_rest, to.longest_rest);
  ticks_ = TickPeriod(to.period_at_most, to.period_mean);
  if (curve_.empty() || to.curve_end > curve_.back().time) {
    curve_.append(to.curve_end, state_.energy);
  }
}

/// Two moves tell the period no better than that the first one came at most so long after the
/// counter's move before.
void CounterAccount::refine_front() {
  constexpr std::size_t kTwoMoves = 3;  // points
  if (state_.changes == 2 && curve_.size() == kTwoMoves && state_.events.resets == 0) {
    const auto points = curve_.points();
    const Nanoseconds earliest = points[1].time - (points[2].time - points[1].time);
    curve_.move_front(std::max(points[0].time, std::min(earliest, first_read_)));
  }
}

/// For how long readings have shown the last value.
Nanoseconds CounterAccount::present_rest() const {
  return state_.last ? std::max(state_.last->before - state_.last->after, Nanoseconds(0))
                     : Nanoseconds(0);
}

/// A counter that counts on moves within such a time; it may have rested for longer before.
Nanoseconds CounterAccount::usual_rest() const {
  const auto period = longest_period();
  if (!period) {
    return curve_.recent_spacing() + sample_period_;
  }
  const auto with_jitter =
      std::chrono::duration_cast<Nanoseconds>(*period * kPeriodJitter) + kLeastJitter;
  return std::max(with_jitter, std::min(state_.longest_rest, kMostPeriodsExtrapolated * *period));
}

/// Where a move was due and readings show none, the counter stopped at its last move, which came
/// at some time since the reading before that.
void CounterAccount::find_untold(Nanoseconds end) {
  unread_ = std::max(Nanoseconds(0), end - state_.last->before);
  if (present_rest() > usual_rest()) {
    overdue_ = std::max(Nanoseconds(0), end - state_.moved_after);
  } else if (unread_ > usual_rest() + sample_period_) {
    overdue_ = unread_;
  }
}

void CounterAccount::close(Nanoseconds end) {
  if (state_.suspect) {
    reset_to(*state_.suspect);
    state_.suspect.reset();
  }
  if (curve_.size() < 2) {
    return;
  }
  find_untold(end);
  if (end <= curve_.back().time) {
    return;
  }
  refine_front();
  const Nanoseconds rest = end - curve_.back().time;
  // The rest that goes on until the end says nothing of how long the counter rests between moves.
  const Nanoseconds limit =
      kMostPeriodsExtrapolated * std::max({longest_period().value_or(kLongestUpdatePeriod),
                                           sample_period_,
                                           curve_.recent_spacing()});
  end_power_ = curve_.recent_power();
  end_spread_ = curve_.recent_spread();
  if (state_.events.gone || rest > limit) {
    not_covered_ = rest;
    return;
  }
  extrapolated_ = rest;
  state_.energy += end_power_ * to_seconds(rest);
  curve_.append(end, state_.energy);
}

Joules CounterAccount::end_doubt(Watts power) const {
  return std::max(power - end_power_, end_power_ - power) * to_seconds(extrapolated_);
}

std::optional<WindowEnergy> CounterAccount::window(Nanoseconds begin, Nanoseconds end) const {
  if (state_.changes < least_moves_ || curve_.back().time <= begin) {
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
  Joules at_end = edge(end);
  if (extrapolated_ > Nanoseconds(0) || not_covered_ > Nanoseconds(0)) {
    at_end =
        (end_power_ + end_spread_) * to_seconds(state_.last_lag) +
        std::max(end_power_ * kExtrapolationPowerShare, end_spread_) * to_seconds(extrapolated_);
  }
  // Where a move was due and did not come, or no reading gave a value, nothing tells the power.
  at_end += unseen_energy(plausible_power_, std::max(untold(), unread_));
  const Joules at_resets =
      state_.extra_uncertainty + unseen_energy(plausible_power_, state_.hidden);
  const Joules at_late_start =
      curve_.early_power() * to_seconds(result.unseen) * (1.0 + kExtrapolationPowerShare);
  result.uncertainty = edge(begin) + at_end + at_resets + at_late_start + joules(1);
  return result;
}

std::optional<Nanoseconds> CounterAccount::update_period() const {
  if (known_period_) {
    return known_period_;
  }
  if (ticks_.mean()) {
    return ticks_.mean();
  }
  // Sparse readings show the period only where the counter often rested between two of them.
  if (state_.changes >= 4 && state_.unchanged >= state_.changes) {
    return (state_.last_change - state_.first_change) /
           static_cast<std::int64_t>(state_.changes - 1);
  }
  return std::nullopt;
}

Nanoseconds CounterAccount::resolution() const {
  const Nanoseconds learned = std::min(ticks_.at_most().value_or(sample_period_), sample_period_);
  return std::max(known_period_.value_or(learned), longest_rest());
}

}  // namespace joulescale
