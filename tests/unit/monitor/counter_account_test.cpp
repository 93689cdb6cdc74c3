// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/counter_account.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/support/counter_feed.h"

namespace joulescale {
namespace {

using testing::at_seconds;
using testing::counter_channel;
using testing::kSamplePeriod;
using testing::no_reading;
using testing::ok_reading;

constexpr std::uint64_t kRangeUj = 262'143'328'850;

double total_j(const CounterAccount& account) { return account.curve().back().energy.value(); }

TEST(CounterAccount, FirstReadingGivesNoEnergy) {
  CounterAccount account(counter_channel(kRangeUj), kSamplePeriod);
  account.add(ok_reading(10.0, 123'456'789));
  EXPECT_DOUBLE_EQ(total_j(account), 0.0);
  account.add(ok_reading(10.1, 133'456'789));
  EXPECT_DOUBLE_EQ(total_j(account), 10.0);
}

TEST(CounterAccount, WrapIsAddedOnce) {
  CounterAccount account(counter_channel(kRangeUj), kSamplePeriod);
  account.add(ok_reading(10.0, kRangeUj - 4'000'000));
  account.add(ok_reading(10.1, 6'000'000));
  account.add(ok_reading(10.2, 16'000'000));
  EXPECT_DOUBLE_EQ(total_j(account), 20.0);
  EXPECT_EQ(account.events().wraps, 1U);
  EXPECT_EQ(account.events().resets, 0U);
}

TEST(CounterAccount, ResetIsNoWrapAndGivesNoEnergy) {
  CounterAccount account(counter_channel(kRangeUj), kSamplePeriod);
  account.add(ok_reading(10.0, 1'000'000'000));
  account.add(ok_reading(10.1, 1'010'000'000));
  account.add(ok_reading(10.2, 5'000'000));  // a wrap would mean 2.6 MW
  account.add(ok_reading(10.3, 15'000'000));
  EXPECT_DOUBLE_EQ(total_j(account), 20.0);
  EXPECT_EQ(account.events().wraps, 0U);
  EXPECT_EQ(account.events().resets, 1U);
}

TEST(CounterAccount, AWrapThatThePowerSoFarDoesNotExplainMayBeAReset) {
  CounterAccount account(counter_channel(kRangeUj), kSamplePeriod);
  const double top_j = 1500.0;  // 150 W; near its top the counter starts anew
  for (int i = 0; i <= 10; ++i) {
    const double seen_j = 15.0 * i;
    const double raw_uj = i < 6 ? static_cast<double>(kRangeUj) - 1e6 * (top_j - seen_j - 1200.0)
                                : 1e6 * (seen_j - 90.0);
    account.add(ok_reading(10.0 + 0.1 * i, static_cast<std::uint64_t>(raw_uj)));
  }
  account.close(at_seconds(11.0));
  const auto window = account.window(at_seconds(10.0), at_seconds(11.0));
  EXPECT_EQ(account.events().ambiguous, 1U);
  EXPECT_NEAR(window->energy.value(), 150.0, window->uncertainty.value());
}

/// 340 W; from the second reading until `until_s` the counter shows a value far above its own.
WindowEnergy wrong_from_the_start(double until_s, std::uint64_t wrong_mj) {
  Channel channel = counter_channel(std::nullopt);
  channel.unit = RawUnit::kMillijoule;
  channel.update_period.reset();
  CounterAccount account(channel, kSamplePeriod);
  for (int i = 0; i <= 30; ++i) {
    const double t = 0.1 * i;
    const auto own_mj = static_cast<std::uint64_t>(1e9 + 340e3 * t);
    account.add(ok_reading(10.0 + t, i > 0 && t < until_s ? wrong_mj : own_mj));
  }
  account.close(at_seconds(13.0));
  EXPECT_GE(account.events().resets, 1U);
  return *account.window(at_seconds(10.0), at_seconds(13.0));
}

TEST(CounterAccount, ACounterThatIsWrongBeforeItEverMovedLosesNothing) {
  const WindowEnergy high = wrong_from_the_start(0.95, 2'000'000'000'000);
  EXPECT_NEAR(high.energy.value(), 1020.0, high.uncertainty.value());
  EXPECT_NEAR(high.energy.value(), 1020.0, 40.0);  // it fell back to where it had been
  const WindowEnergy low = wrong_from_the_start(0.95, 5);
  EXPECT_NEAR(low.energy.value(), 1020.0, low.uncertainty.value());
}

TEST(CounterAccount, AResetBeforeTheFirstMoveHidesWhatThePowerAfterItTells) {
  Channel channel = counter_channel(std::nullopt);
  channel.unit = RawUnit::kMillijoule;
  CounterAccount account(channel, kSamplePeriod);
  account.add(ok_reading(10.0, 1'000'000'000));
  for (std::uint64_t i = 10; i <= 30; ++i) {  // nothing was read for a second; it counts anew
    account.add(ok_reading(10.0 + 0.1 * static_cast<double>(i), 34'000 * (i - 9)));
  }
  account.close(at_seconds(13.0));
  const auto window = account.window(at_seconds(10.0), at_seconds(13.0));
  EXPECT_EQ(account.events().resets, 1U);
  EXPECT_NEAR(window->energy.value(), 1020.0, window->uncertainty.value());
}

TEST(CounterAccount, ACounterThatFailsAfterTwoMovesTellsNoPowerOfTheRest) {
  Channel channel = counter_channel(std::nullopt);
  channel.unit = RawUnit::kMillijoule;
  channel.update_period.reset();
  CounterAccount account(channel, kSamplePeriod);
  for (int i = 0; i <= 4; ++i) {  // 328 W, a tick each 20 ms, read each 10 ms
    account.add(
        ok_reading(10.0 + 0.01 * i, 1'000'000 + static_cast<std::uint64_t>(6'560 * (i / 2))));
  }
  for (const double t : testing::times(10.1, 10.95, 0.1)) {
    account.add(no_reading(t));
  }
  account.close(at_seconds(10.9));
  const auto window = account.window(at_seconds(10.0), at_seconds(10.9));
  EXPECT_NEAR(window->energy.value(), 328.0 * 0.9, window->uncertainty.value());
  EXPECT_GT(window->uncertainty.value(), window->energy.value());
  EXPECT_GT(account.untold(), std::chrono::milliseconds(500));
}

TEST(CounterAccount, OneMoveTellsNoPowerUnlessThePeriodIsKnown) {
  Channel channel = counter_channel(std::nullopt);
  channel.update_period.reset();
  const auto window_of = [&channel](double last_s) {
    CounterAccount account(channel, at_seconds(1.0));
    account.add(ok_reading(10.0, 1'000'000'000));
    account.add(ok_reading(10.01, 1'004'000'000));  // 200 W, a tick each 20 ms
    account.add(ok_reading(last_s, 1'004'000'000 + (last_s > 10.02 ? 4'000'000 : 0)));
    account.close(at_seconds(10.04));
    return account.window(at_seconds(10.0), at_seconds(10.04));
  };
  EXPECT_FALSE(window_of(10.02).has_value());
  const auto two_moves = window_of(10.03);
  ASSERT_TRUE(two_moves.has_value());
  EXPECT_NEAR(two_moves->energy.value(), 8.0, two_moves->uncertainty.value());
  channel.update_period = std::chrono::milliseconds(20);
  const auto known = window_of(10.02);
  ASSERT_TRUE(known.has_value());
  EXPECT_NEAR(known->energy.value(), 8.0, known->uncertainty.value());
}

/// 60 W, and 300 W from 10.75 s on: `seen(t)` tells whether and what the counter shows.
template <typename Seen>
std::optional<WindowEnergy> rising_power(const Seen& seen) {
  CounterAccount account(counter_channel(kRangeUj), kSamplePeriod);
  for (int i = 0; i <= 10; ++i) {
    const double t = 0.1 * i;
    const double energy_j = 60.0 * std::min(t, 0.75) + 300.0 * std::max(t - 0.75, 0.0);
    account.add(seen(10.0 + t, energy_j));
  }
  account.close(at_seconds(11.0));
  return account.window(at_seconds(10.0), at_seconds(11.0));
}

TEST(CounterAccount, ThePowerBeforeIsNoBoundOfWhatWasNotSeen) {
  const double truth_j = 60.0 * 0.75 + 300.0 * 0.25;
  const auto raw = [](double energy_j) { return static_cast<std::uint64_t>(1e9 + 1e6 * energy_j); };
  const auto lost = rising_power([&](double t, double energy_j) {
    return t > 10.65 ? no_reading(t) : ok_reading(t, raw(energy_j));
  });
  ASSERT_TRUE(lost.has_value());
  EXPECT_NEAR(lost->energy.value(), truth_j, lost->uncertainty.value());
  const auto without_the_last = rising_power([&](double t, double energy_j) {
    return t > 10.95 ? no_reading(t) : ok_reading(t, raw(energy_j));
  });
  EXPECT_GT(without_the_last->uncertainty.value(), 50.0);  // 0.1 s of up to 2.5 kW
  const auto reset = rising_power([&](double t, double energy_j) {
    return ok_reading(t, raw(energy_j) - (t > 10.85 ? 900'000'000 : 0));
  });
  ASSERT_TRUE(reset.has_value());
  EXPECT_NEAR(reset->energy.value(), truth_j, reset->uncertainty.value());
}

TEST(CounterAccount, DecreaseWithoutRangeIsAReset) {
  CounterAccount account(counter_channel(std::nullopt), kSamplePeriod);
  account.add(ok_reading(10.0, kRangeUj - 1));
  account.add(ok_reading(10.1, 1'000'000));
  account.add(ok_reading(10.2, 2'000'000));
  EXPECT_DOUBLE_EQ(total_j(account), 1.0);
  EXPECT_EQ(account.events().resets, 1U);
}

TEST(CounterAccount, ResetAtTheEndIsSeen) {
  CounterAccount account(counter_channel(std::nullopt), kSamplePeriod);
  account.add(ok_reading(10.0, 1'000'000'000));
  account.add(ok_reading(10.1, 1'010'000'000));
  account.add(ok_reading(10.2, 5'000'000));
  account.close(at_seconds(10.2));
  EXPECT_EQ(account.events().resets, 1U);
  const auto window = account.window(at_seconds(10.0), at_seconds(10.2));
  ASSERT_TRUE(window.has_value());
  EXPECT_NEAR(window->energy.value(), 10.0, 0.1);
  EXPECT_GE(window->uncertainty.value(), 10.0);  // what the lost interval may have held
}

TEST(CounterAccount, FirstMoveOfASlowCounterIsNoReset) {
  Channel channel = counter_channel(std::nullopt);
  channel.update_period.reset();
  channel.plausible_power = Watts(1400.0);
  CounterAccount account(channel, std::chrono::milliseconds(50));
  // 600 W; moves every 0.4 s, of which the last came before the first reading.
  for (int i = 0; i < 20; ++i) {
    account.add(ok_reading(10.0 + 0.05 * i, static_cast<std::uint64_t>((i + 5) / 8) * 240'000'000));
  }
  EXPECT_EQ(account.events().resets, 0U);
  EXPECT_DOUBLE_EQ(total_j(account), 720.0);
}

TEST(CounterAccount, OneStrayValueIsAGlitch) {
  CounterAccount account(counter_channel(std::nullopt), kSamplePeriod);
  account.add(ok_reading(10.0, 1'000'000'000));
  account.add(ok_reading(10.1, 0));  // hurried drivers answer so
  account.add(ok_reading(10.2, 1'020'000'000));
  EXPECT_DOUBLE_EQ(total_j(account), 20.0);
  EXPECT_EQ(account.events().resets, 0U);
  EXPECT_EQ(account.events().missed, 1U);
}

/// Feeds readings of `raw_j(t)` every 100 ms from `begin_s` up to `end_s`, and closes there.
template <typename Function>
WindowEnergy feed(CounterAccount& account, double begin_s, double end_s, Function raw_j) {
  const int last = static_cast<int>(std::lround((end_s - begin_s) * 10.0));
  for (int i = 0; i <= last; ++i) {
    const double t = begin_s + 0.1 * i;
    account.add(ok_reading(t, static_cast<std::uint64_t>(raw_j(t) * 1e6)));
  }
  account.close(at_seconds(end_s));
  return account.window(at_seconds(begin_s), at_seconds(end_s)).value_or(WindowEnergy{});
}

TEST(CounterAccount, ACounterThatStopsIsNotCarriedOn) {
  CounterAccount account(counter_channel(kRangeUj), kSamplePeriod);
  const WindowEnergy window =
      feed(account, 10.0, 20.0, [](double t) { return 100.0 * std::min(t, 11.05); });
  EXPECT_NEAR(window.energy.value(), 105.0, 5.5);
  EXPECT_GT(account.untold(), std::chrono::seconds(8));
  EXPECT_GE((window.energy + window.uncertainty).value(), 1000.0) << "had it only stopped to tell";
}

TEST(CounterAccount, AWrapIsJudgedByTheTimeSinceTheLastReading) {
  // At rest for longer than a whole round could take; then it starts anew, or steps back by a hair.
  for (const double after : {0.0, 519.999}) {
    CounterAccount account(counter_channel(65'712'999'613), kSamplePeriod);
    const WindowEnergy window = feed(account, 10.0, 40.0, [&](double t) {
      return t < 30.0 ? 500.0 + 10.0 * (std::min(t, 12.0) - 10.0) : after + 10.0 * (t - 30.0);
    });
    EXPECT_EQ(account.events().wraps, 0U);
    EXPECT_EQ(account.events().resets, after == 0.0 ? 1U : account.events().resets);
    EXPECT_NEAR(window.energy.value(), 120.0, window.uncertainty.value() + 0.1);
    EXPECT_LT(window.energy.value(), 130.0);
  }
}

TEST(CounterAccount, AStepBackForGoodIsInTheUncertainty) {
  CounterAccount account(counter_channel(std::nullopt), kSamplePeriod);
  const WindowEnergy window = feed(
      account, 10.0, 12.0, [](double t) { return 5000.0 + 100.0 * t - (t > 11.15 ? 15.0 : 0.0); });
  EXPECT_NEAR(window.energy.value(), 200.0, window.uncertainty.value() + 1e-9);
  EXPECT_GE(window.uncertainty.value(), 4.9);
}

TEST(CounterAccount, WrongValuesThatEndAddNoEnergy) {
  CounterAccount account(counter_channel(kRangeUj), kSamplePeriod);
  const WindowEnergy window = feed(account, 10.0, 13.0, [](double t) {
    return t > 11.05 && t < 11.55 ? 0.0 : 100.0 * (t - 9.0);
  });
  EXPECT_NEAR(window.energy.value(), 300.0, 11.0);
  EXPECT_GE(account.events().resets, 1U);
}

TEST(CounterAccount, ACounterThatStartsAnewPassesItsOldValueUnharmed) {
  CounterAccount account(counter_channel(kRangeUj), kSamplePeriod);
  const WindowEnergy window = feed(account, 10.0, 30.0, [](double t) {
    return t < 15.0 ? 100.0 * (t - 9.0) : 100.0 * (t - 15.0);
  });
  EXPECT_NEAR(window.energy.value(), 2000.0, window.uncertainty.value());
  EXPECT_EQ(account.events().resets, 1U);
}

TEST(CounterAccount, ARangeBelowTheValuesIsNoRange) {
  for (const std::uint64_t range : {1ULL, 1000ULL, 5'000'000ULL}) {
    CounterAccount account(counter_channel(range), kSamplePeriod);
    const WindowEnergy window =
        feed(account, 10.0, 12.0, [](double t) { return 100.0 * (t - 9.0); });
    EXPECT_NEAR(window.energy.value(), 200.0, 10.0) << range;
    EXPECT_EQ(account.events().wraps, 0U);
  }
}

TEST(CounterAccount, ImplausibleIncreaseIsNoEnergy) {
  CounterAccount account(counter_channel(std::nullopt), kSamplePeriod);
  account.add(ok_reading(10.0, 1'000'000));
  account.add(ok_reading(10.1, 900'000'000'000));  // 9 MW
  account.add(ok_reading(10.2, 900'010'000'000));
  EXPECT_DOUBLE_EQ(total_j(account), 10.0);
  EXPECT_EQ(account.events().resets, 1U);
}

TEST(CounterAccount, MissingReadingLosesNoEnergy) {
  CounterAccount account(counter_channel(kRangeUj), kSamplePeriod);
  account.add(ok_reading(10.0, 1'000'000));
  account.add(no_reading(10.1));
  account.add(ok_reading(10.2, 21'000'000));
  EXPECT_DOUBLE_EQ(total_j(account), 20.0);
  EXPECT_EQ(account.events().missed, 1U);
}

TEST(CounterAccount, WrapAcrossAMissingReadingIsAdded) {
  CounterAccount account(counter_channel(kRangeUj), kSamplePeriod);
  account.add(ok_reading(10.0, kRangeUj - 1'000'000));
  account.add(no_reading(10.1));
  account.add(ok_reading(10.2, 19'000'000));
  EXPECT_DOUBLE_EQ(total_j(account), 20.0);
}

TEST(CounterAccount, LongGapIsAmbiguousAndTheMeanPowerDecides) {
  Channel channel = counter_channel(1'000'000'000);  // 1 kJ: 5 s at 200 W, 0.25 s at 4 kW
  CounterAccount account(channel, kSamplePeriod);
  std::uint64_t energy_uj = 0;
  for (int i = 0; i <= 20; ++i, energy_uj += 20'000'000) {
    account.add(ok_reading(10.0 + 0.1 * i, energy_uj));
  }
  // 12.5 s without a reading at 200 W: 2500 J more, two and a half rounds.
  account.add(ok_reading(24.5, (400'000'000 + 2'500'000'000) % 1'000'000'000));
  EXPECT_NEAR(total_j(account), 400.0 + 2500.0, 1e-6);
  EXPECT_EQ(account.events().wraps, 2U);
  EXPECT_EQ(account.events().ambiguous, 1U);
  account.close(at_seconds(24.5));
  EXPECT_GE(account.window(at_seconds(10.0), at_seconds(24.5))->uncertainty.value(), 1000.0);
}

TEST(CounterAccount, EdgesAreExtrapolatedFromTheLastTick) {
  Channel channel = counter_channel(kRangeUj);
  channel.update_period = kSamplePeriod;  // a slow counter
  CounterAccount account(channel, std::chrono::milliseconds(10));
  // 100 W; the counter moves at every tenth of a second.
  for (int i = 0; i <= 205; ++i) {
    const auto ticks = static_cast<std::uint64_t>(i / 10);
    account.add(ok_reading(10.0 + 0.01 * i, ticks * 10'000'000));
  }
  account.close(at_seconds(12.05));
  const auto window = account.window(at_seconds(10.15), at_seconds(12.05));
  ASSERT_TRUE(window.has_value());
  EXPECT_NEAR(window->energy.value(), 190.0, window->uncertainty.value());
  EXPECT_LT(window->uncertainty.value(), 15.0);
  EXPECT_NEAR(window->energy.value(), 190.0, 1.5);
}

TEST(CounterAccount, CounterThatNeverMovesGivesNoValue) {
  CounterAccount account(counter_channel(kRangeUj), kSamplePeriod);
  account.add(ok_reading(10.0, 5));
  account.add(ok_reading(12.0, 5));
  account.close(at_seconds(12.0));
  EXPECT_FALSE(account.window(at_seconds(10.0), at_seconds(12.0)).has_value());
}

TEST(CounterAccount, LateFirstReadingIsNotMadeUp) {
  CounterAccount account(counter_channel(kRangeUj), kSamplePeriod);
  account.add(ok_reading(12.0, 0));
  account.add(ok_reading(13.0, 100'000'000));
  account.close(at_seconds(13.0));
  const auto window = account.window(at_seconds(10.0), at_seconds(13.0));
  ASSERT_TRUE(window.has_value());
  EXPECT_NEAR(window->energy.value(), 100.0, 0.2);
  EXPECT_NEAR(to_seconds(window->unseen).value(), 2.0, 0.01);
}

TEST(CounterAccount, AMoveLiesWithinTheReadingThatShowedIt) {
  CounterAccount account(counter_channel(std::nullopt), kSamplePeriod);  // moves every millisecond
  // 100 W; the second reading took 40 ms and looked at the counter somewhere within them.
  account.add(ok_reading(10.0, 0));
  account.add({ReadStatus::kOk, 12'000'000, at_seconds(10.1), at_seconds(10.14)});
  EXPECT_NEAR(to_seconds(account.curve().back().time).value(), 10.12, 0.001);
}

TEST(CounterAccount, ReadingsAtOneTimeMakeNoInfinitePower) {
  CounterAccount account(counter_channel(std::nullopt), kSamplePeriod);
  account.add(ok_reading(10.0, 1'000'000));
  account.add(ok_reading(11.0, 101'000'000));
  account.add(ok_reading(11.0, 101'500'000));
  account.close(at_seconds(11.0));
  const auto window = account.window(at_seconds(10.0), at_seconds(11.0));
  EXPECT_NEAR(window->energy.value(), 100.0, 1.0);
  EXPECT_LT(window->uncertainty.value(), 20.0);
}

TEST(CounterAccount, LostDeviceIsNotExtrapolated) {
  CounterAccount account(counter_channel(std::nullopt), kSamplePeriod);
  account.add(ok_reading(10.0, 0));
  account.add(ok_reading(11.0, 100'000'000));
  account.add(no_reading(11.1, ReadStatus::kGone));
  account.close(at_seconds(11.2));
  EXPECT_TRUE(account.events().gone);
  const auto window = account.window(at_seconds(10.0), at_seconds(11.2));
  EXPECT_NEAR(window->energy.value(), 100.0, 0.1);
  EXPECT_GE(window->uncertainty.value(), 25.0);  // of the 20 J that were not seen
}

/// Closed form: a ramp 50..250 W over 300 s with two wraps of a small range.
TEST(CounterAccount, RampWithTwoWrapsIsExact) {
  constexpr std::uint64_t kSmallRangeUj = 18'000'000'000;
  CounterAccount account(counter_channel(kSmallRangeUj), kSamplePeriod);
  const auto energy_j = [](double t) { return 50.0 * t + 200.0 / 300.0 * t * t / 2.0; };
  const double start_j = 17'000.0;
  for (int i = 0; i <= 3000; ++i) {
    const double t = 0.1 * i;
    const auto total_uj = static_cast<std::uint64_t>((start_j + energy_j(t)) * 1e6);
    account.add(ok_reading(1000.0 + t, total_uj % kSmallRangeUj));
  }
  account.close(at_seconds(1300.0));
  EXPECT_EQ(account.events().wraps, 3U);
  const auto window = account.window(at_seconds(1000.05), at_seconds(1299.95));
  const double expected = energy_j(299.95) - energy_j(0.05);
  EXPECT_NEAR(window->energy.value(), expected, 1e-3 * expected);
  EXPECT_NEAR(window->energy.value(), expected, window->uncertainty.value());
  EXPECT_LT(window->uncertainty.value(), 1e-3 * expected);
}

/// 100 W on a counter that moves every `period_s`: its raw value at a time.
std::uint64_t ticking_uj(double time_s, double period_s) {
  return static_cast<std::uint64_t>(
      std::llround(std::floor(time_s / period_s + 1e-9) * period_s * 100e6));
}

TEST(CounterAccount, LearnsThePeriodFromReadingsCloseTogether) {
  Channel channel = counter_channel(kRangeUj);
  channel.update_period.reset();
  CounterAccount account(channel, kSamplePeriod);
  constexpr double kTick = 0.004;
  for (const double time : testing::times(10.0015, 10.02, 0.0005)) {  // 1.5 ms after a move
    account.add(ok_reading(time, ticking_uj(time, kTick)));
  }
  for (const double time : testing::times(10.1, 20.05, 0.1)) {
    account.add(ok_reading(time, ticking_uj(time, kTick)));
  }
  ASSERT_TRUE(account.update_period());
  EXPECT_NEAR(to_seconds(*account.update_period()).value(), kTick, 0.0003);
  const Nanoseconds begin = at_seconds(10.003);  // before the first move that was seen
  const Nanoseconds end = at_seconds(20.0);
  account.close(end);
  const auto window = account.window(begin, end);
  ASSERT_TRUE(window);
  // A tick at each end, and no tenth of a second.
  EXPECT_NEAR(window->energy.value(), 999.7, 0.4);
  EXPECT_LT(window->uncertainty.value(), 2.0);
  EXPECT_LT(std::abs(window->energy.value() - 999.7), window->uncertainty.value());
}

TEST(CounterAccount, SparseReadingsTeachNoPeriod) {
  Channel channel = counter_channel(kRangeUj);
  channel.update_period.reset();
  CounterAccount account(channel, kSamplePeriod);
  for (int i = 0; i < 50; ++i) {
    account.add(ok_reading(10.0 + 0.1 * i, ticking_uj(10.0 + 0.1 * i, 0.004)));
  }
  EXPECT_FALSE(account.update_period());
  EXPECT_EQ(account.resolution(), kSamplePeriod);
}

}  // namespace
}  // namespace joulescale
