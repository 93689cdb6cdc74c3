// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/power_account.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <gtest/gtest.h>

#include "joulescale/monitor/energy_timeline.h"

#include "tests/support/counter_feed.h"

namespace joulescale {
namespace {

using testing::at_seconds;
using testing::kSamplePeriod;
using testing::no_reading;
using testing::ok_reading;
using testing::power_channel;

TEST(PowerAccount, IntegratesRealTimeBetweenSamples) {
  PowerAccount account(power_channel(), kSamplePeriod);
  account.add(ok_reading(10.0, 100'000));
  account.add(ok_reading(10.1, 100'000));
  account.add(no_reading(10.2));
  account.add(ok_reading(11.0, 300'000));
  account.close(at_seconds(11.0));
  const auto window = account.window(at_seconds(10.0), at_seconds(11.0));
  ASSERT_TRUE(window.has_value());
  EXPECT_NEAR(window->energy.value(), 10.0 + 200.0 * 0.9, 1e-9);
  EXPECT_EQ(account.events().missed, 1U);
}

TEST(PowerAccount, WhatNoSampleToldOfTheEndIsInTheUncertainty) {
  PowerAccount account(power_channel(), kSamplePeriod);
  for (int i = 0; i <= 20; ++i) {
    account.add(ok_reading(10.0 + 0.1 * i, 600'000));
  }
  account.close(at_seconds(12.8));  // 0.8 s in which the power may have been anything
  const auto window = account.window(at_seconds(10.0), at_seconds(12.8));
  ASSERT_TRUE(window.has_value());
  const double fell_at_once_j = 600.0 * 2.0 + 60.0 * 0.8;
  EXPECT_NEAR(window->energy.value(), fell_at_once_j, window->uncertainty.value());
  const double limit_w = power_channel().plausible_power.value() / kPlausibleByLimit;
  EXPECT_LT(window->uncertainty.value(), 1.25 * limit_w * 0.8 + 60.0);
}

TEST(PowerAccount, AMeanOverASecondMayLagBehindAStepByHalfOfIt) {
  // 50 W, from 10 s on 500 W: the mean over the last second rises in a second.
  for (const double length_s : {0.3, 1.0, 3.0, 10.0}) {
    Channel channel = power_channel();
    channel.averaging = std::chrono::seconds(1);
    PowerAccount account(channel, kSamplePeriod);
    for (const double t : testing::times(0.0, length_s + 0.05, 0.1)) {
      account.add(ok_reading(10.0 + t,
                             static_cast<std::uint64_t>(1e3 * (50.0 + 450.0 * std::min(t, 1.0)))));
    }
    const Nanoseconds end = at_seconds(10.0 + length_s);
    account.close(end);
    const auto window = account.window(at_seconds(10.0), end);
    ASSERT_TRUE(window.has_value());
    EXPECT_NEAR(window->energy.value(), 500.0 * length_s, window->uncertainty.value()) << length_s;
    EXPECT_LT(window->uncertainty.value(), 450.0 * 0.5 + 500.0 * 0.2 + 50.0) << length_s;
    EXPECT_EQ(account.time_scale(), channel.averaging) << "within it no peak shows";
  }
}

TEST(PowerAccount, AValueThatNeverChangedInAShortRunMayBeOlderThanTheRun) {
  Channel channel = power_channel();
  channel.plausible_power = Watts(1000.0);  // a GPU of up to 500 W
  const auto run = [&](double length_s, bool changes) {
    PowerAccount account(channel, kSamplePeriod);
    for (const double t : testing::times(0.0, length_s + 0.05, 0.1)) {
      account.add(ok_reading(10.0 + t, changes && t > 0.05 ? 50'001 : 50'000));
    }
    account.close(at_seconds(10.0 + length_s));
    return *account.window(at_seconds(10.0), at_seconds(10.0 + length_s));
  };
  const WindowEnergy stale = run(0.6, false);  // the GPU took 400 W since 10 s
  EXPECT_NEAR(stale.energy.value(), 400.0 * 0.6, stale.uncertainty.value());
  EXPECT_LT(run(0.6, true).uncertainty.value(), 10.0);
  EXPECT_LT(run(2.0, false).uncertainty.value(), 10.0);  // it is refreshed within a second
}

TEST(PowerAccount, OneSampleReadTwiceIsOneSample) {
  PowerAccount account(power_channel(), kSamplePeriod);
  for (const double t : {10.0, 10.0, 10.1, 10.1, 10.1, 10.2}) {
    account.add(ok_reading(t, 100'000));
  }
  EXPECT_EQ(account.events().samples, 3U);
  EXPECT_EQ(account.events().missed, 0U);
  account.close(at_seconds(10.2));
  EXPECT_NEAR(account.window(at_seconds(10.0), at_seconds(10.2))->energy.value(), 20.0, 1e-9);
}

TEST(PowerAccount, SineIsExactWithinAThousandth) {
  PowerAccount account(power_channel(), kSamplePeriod);
  for (int i = 0; i <= 600; ++i) {
    const double t = 0.1 * i;
    account.add(
        ok_reading(100.0 + t, static_cast<std::uint64_t>(1e3 * (300.0 + 100.0 * std::sin(t)))));
  }
  account.close(at_seconds(160.0));
  const auto window = account.window(at_seconds(100.0), at_seconds(160.0));
  const double expected = 300.0 * 60.0 + 100.0 * (1.0 - std::cos(60.0));
  EXPECT_NEAR(window->energy.value(), expected, 1e-3 * expected);
  EXPECT_NEAR(window->energy.value(), expected, window->uncertainty.value());
}

TEST(PowerAccount, SpikesAndEqualTimesAreNoEnergy) {
  PowerAccount account(power_channel(), kSamplePeriod);
  account.add(ok_reading(10.0, 100'000));
  account.add(ok_reading(10.5, 4'000'000'000));  // 4 MW
  account.add(ok_reading(11.0, 100'000));
  account.add(ok_reading(11.0, 900'000));
  account.close(at_seconds(11.0));
  EXPECT_NEAR(account.window(at_seconds(10.0), at_seconds(11.0))->energy.value(), 100.0, 1e-9);
}

TEST(PowerAccount, LongGapIsCountedAndUncertain) {
  PowerAccount account(power_channel(), kSamplePeriod);
  account.add(ok_reading(10.0, 100'000));
  account.add(ok_reading(20.0, 100'000));
  account.close(at_seconds(20.0));
  EXPECT_EQ(account.events().gaps, 1U);
  EXPECT_GE(account.window(at_seconds(10.0), at_seconds(20.0))->uncertainty.value(), 1000.0);
}

TEST(PowerAccount, OneSampleIsNoEnergy) {
  PowerAccount account(power_channel(), kSamplePeriod);
  account.add(ok_reading(10.0, 100'000));
  account.close(at_seconds(10.0));
  EXPECT_FALSE(account.window(at_seconds(9.0), at_seconds(10.0)).has_value());
}

TEST(EnergyCurve, ThinsOutWhatIsLong) {
  EnergyCurve curve;
  for (int i = 0; i < 2'500'000; ++i) {
    curve.append(Nanoseconds(std::int64_t{i} * 1'000'000), Joules(i * 0.1));
  }
  EXPECT_LE(curve.size(), std::size_t{1} << 14);
  EXPECT_NEAR(curve.at(at_seconds(1250.0)).value(), 125'000.0, 0.5);
  EXPECT_NEAR(curve.back().energy.value(), 249'999.9, 1e-6);
}

/// 100 W, and 200 W for the second before `begin` and the one after.
Joules uneven_energy(double time_s, double begin_s) {
  const double before = std::clamp(time_s - (begin_s - 1.0), 0.0, 2.0);
  return Joules(100.0 * time_s + 100.0 * before);
}

TEST(EnergyCurve, KeepingTheEndsKeepsTotalsWhateverTheLength) {
  constexpr double kEnd = 3000.0;
  for (const double begin_s : {5.0, 50.0, 500.0}) {
    for (const bool told_before : {true, false}) {
      EnergyCurve curve;
      curve.keep_ends_only();
      if (told_before) {
        curve.keep_begin(at_seconds(begin_s + 0.004));
      }
      for (const double time_s : testing::times(0.0, kEnd, 0.01)) {
        curve.append(at_seconds(time_s), uneven_energy(time_s, begin_s));
        if (!told_before && std::abs(time_s - begin_s - 1.0) < 0.005) {
          curve.keep_begin(at_seconds(begin_s + 0.004));
        }
      }
      EXPECT_LE(curve.size(), 1000U);
      EXPECT_NEAR(curve.at(at_seconds(begin_s + 0.004)).value(),
                  uneven_energy(begin_s + 0.004, begin_s).value(),
                  1e-3);
      EXPECT_NEAR(curve.at(at_seconds(kEnd - 2.003)).value(),
                  uneven_energy(kEnd - 2.003, begin_s).value(),
                  1e-3);
    }
  }
}

TEST(EnergyCurve, ForgettingTakesNothingFromLaterTimes) {
  EnergyCurve curve;
  for (int i = 0; i < 1000; ++i) {
    curve.append(at_seconds(i), Joules(i * i));
  }
  const double before = curve.at(at_seconds(700.5)).value();
  curve.forget_before(at_seconds(700.5));
  EXPECT_LE(curve.size(), 300U);
  EXPECT_DOUBLE_EQ(curve.at(at_seconds(700.5)).value(), before);
  EXPECT_DOUBLE_EQ(curve.at(at_seconds(900.0)).value(), 810'000.0);
}

/// 100 W, and 500 W between 40 and 41 s.
class Burst final : public EnergyTimeline {
 public:
  NodeJoules at(Nanoseconds time) override {
    const double seconds = to_seconds(time).value();
    return {Joules(100.0 * seconds + 400.0 * std::clamp(seconds - 40.0, 0.0, 1.0)), Joules(0.0)};
  }
  bool has_measured() const override { return true; }
  bool has_estimated() const override { return false; }
  Nanoseconds resolution() const override { return kSamplePeriod; }
};

TEST(PeakPower, IsTheHighestMeanOverAWindow) {
  Burst burst;
  PeakPower peak(burst, at_seconds(0.0), at_seconds(100.0), at_seconds(1.0));
  EXPECT_DOUBLE_EQ(peak.at(at_seconds(30.3)).measured.value(), 3030.0);
  EXPECT_NEAR(peak.finish()->value(), 500.0, 1e-9);
  PeakPower wide(burst, at_seconds(0.0), at_seconds(100.0), at_seconds(4.0));
  EXPECT_NEAR(wide.finish()->value(), 200.0, 1e-9);
  PeakPower of_short_run(burst, at_seconds(0.0), at_seconds(2.0), at_seconds(4.0));
  EXPECT_NEAR(of_short_run.finish()->value(), 100.0, 1e-9);
}

}  // namespace
}  // namespace joulescale
