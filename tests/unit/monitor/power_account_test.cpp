// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/power_account.h"

#include <cmath>

#include <gtest/gtest.h>

#include "joulescale/monitor/energy_curve.h"

#include "tests/support/counter_feed.h"

namespace joulescale {
namespace {

using testing::at_seconds;
using testing::no_reading;
using testing::ok_reading;
using testing::power_channel;

constexpr Nanoseconds kPeriod = std::chrono::milliseconds(100);

TEST(PowerAccount, IntegratesRealTimeBetweenSamples) {
  PowerAccount account(power_channel(), kPeriod);
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

TEST(PowerAccount, SineIsExactWithinAThousandth) {
  PowerAccount account(power_channel(), kPeriod);
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
  PowerAccount account(power_channel(), kPeriod);
  account.add(ok_reading(10.0, 100'000));
  account.add(ok_reading(10.5, 4'000'000'000));  // 4 MW
  account.add(ok_reading(11.0, 100'000));
  account.add(ok_reading(11.0, 900'000));
  account.close(at_seconds(11.0));
  EXPECT_NEAR(account.window(at_seconds(10.0), at_seconds(11.0))->energy.value(), 100.0, 1e-9);
}

TEST(PowerAccount, LongGapIsCountedAndUncertain) {
  PowerAccount account(power_channel(), kPeriod);
  account.add(ok_reading(10.0, 100'000));
  account.add(ok_reading(20.0, 100'000));
  account.close(at_seconds(20.0));
  EXPECT_EQ(account.events().gaps, 1U);
  EXPECT_GE(account.window(at_seconds(10.0), at_seconds(20.0))->uncertainty.value(), 1000.0);
}

TEST(PowerAccount, OneSampleIsNoEnergy) {
  PowerAccount account(power_channel(), kPeriod);
  account.add(ok_reading(10.0, 100'000));
  account.close(at_seconds(10.0));
  EXPECT_FALSE(account.window(at_seconds(9.0), at_seconds(10.0)).has_value());
}

TEST(EnergyCurve, SumPeakAndThinning) {
  EnergyCurve a;
  EnergyCurve b;
  a.append(at_seconds(0.0), Joules(0.0));
  a.append(at_seconds(10.0), Joules(1000.0));
  b.append(at_seconds(0.0), Joules(5.0));
  b.append(at_seconds(4.0), Joules(5.0));
  b.append(at_seconds(5.0), Joules(505.0));
  const std::vector<const EnergyCurve*> both = {&a, &b};
  const EnergyCurve sum = sum_curves(both, at_seconds(1.0), at_seconds(9.0));
  EXPECT_DOUBLE_EQ(sum.front().energy.value(), 0.0);
  EXPECT_DOUBLE_EQ(sum.back().energy.value(), 800.0 + 500.0);
  EXPECT_DOUBLE_EQ(peak_power(sum, at_seconds(1.0)).value(), 600.0);
  EnergyCurve::Cursor cursor(sum);
  for (const double time : {0.5, 2.0, 4.5, 8.0, 3.0, 12.0}) {
    EXPECT_DOUBLE_EQ(cursor.at(at_seconds(time)).value(), sum.at(at_seconds(time)).value());
  }
  EnergyCurve big;
  for (int i = 0; i < 2'500'000; ++i) {
    big.append(Nanoseconds(std::int64_t{i} * 1'000'000), Joules(i * 0.1));
  }
  EXPECT_LE(big.size(), std::size_t{1} << 20);
  EXPECT_NEAR(big.at(at_seconds(1250.0)).value(), 125'000.0, 0.5);
  EXPECT_NEAR(big.back().energy.value(), 249'999.9, 1e-6);
}

}  // namespace
}  // namespace joulescale
