// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/metric_account.h"

#include <cmath>
#include <limits>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/counter_feed.h"

namespace joulescale {
namespace {

using testing::at_seconds;
using testing::metric_channel;
using testing::no_reading;
using testing::ok_reading;

constexpr Nanoseconds kMetricPeriod = std::chrono::seconds(1);
constexpr std::size_t kMostEarly = 8;

MetricAccount account_of(RawUnit unit, Behavior behavior = Behavior::kGauge) {
  return {metric_channel("nvml/GPU-1/x", unit, behavior), kMetricPeriod, kMostEarly};
}

TEST(MetricAccount, ACounterReadWhileTheCommandEndedIsNotItsLastWord) {
  MetricAccount account = account_of(RawUnit::kMicrosecond, Behavior::kCounter);
  account.add(ok_reading(1.0, 0));
  account.keep_begin(at_seconds(1.5));
  RawReading during = ok_reading(9.9, 1'000'000);
  during.after = at_seconds(10.3);
  account.add(during);
  account.add(ok_reading(10.4, 3'000'000));
  EXPECT_DOUBLE_EQ(*account.finish(at_seconds(1.5), at_seconds(10.0))->difference, 3.0);
}

TEST(MetricAccount, MeanIsWeightedByTimeBetweenBeginAndEnd) {
  MetricAccount account = account_of(RawUnit::kPercent);
  account.keep_begin(at_seconds(100.0));
  // A ramp from 0 at 99 s to 100 at 109 s, read at uneven times.
  for (const double t : {98.0, 99.0, 100.5, 101.0, 104.0, 107.0, 108.0, 109.0}) {
    account.add(ok_reading(t, static_cast<std::uint64_t>(std::max(0.0, 10.0 * (t - 99.0)))));
  }
  const auto metric = account.finish(at_seconds(100.0), at_seconds(107.5));
  ASSERT_TRUE(metric);
  EXPECT_EQ(metric->unit, "percent");
  EXPECT_NEAR(*metric->mean, (10.0 + 85.0) / 2.0, 1e-9);
  EXPECT_EQ(metric->minimum, 15.0);
  EXPECT_EQ(metric->maximum, 80.0);
  EXPECT_EQ(metric->samples, 4U);
  EXPECT_FALSE(metric->difference);
}

TEST(MetricAccount, ABeginToldLateCountsAsOneToldEarly) {
  for (const bool early : {true, false}) {
    MetricAccount account = account_of(RawUnit::kMegahertz);
    if (early) {
      account.keep_begin(at_seconds(102.5));
    }
    for (int i = 0; i < 6; ++i) {
      account.add(ok_reading(100.0 + i, i < 3 ? 5000 : 1000));
    }
    account.keep_begin(at_seconds(102.5));
    const auto metric = account.finish(at_seconds(102.5), at_seconds(105.0));
    ASSERT_TRUE(metric);
    EXPECT_EQ(metric->maximum, 1000.0) << "what was before the command does not count";
    EXPECT_EQ(*metric->mean, 1000.0) << "nor in the mean, which is never above the maximum";
    EXPECT_EQ(metric->samples, 3U);
  }
}

TEST(MetricAccount, ManyReadingsBeforeTheBeginDoNotGrowMemoryNorCount) {
  MetricAccount account = account_of(RawUnit::kCelsius);
  for (int i = 0; i < 1000; ++i) {
    account.add(ok_reading(1.0 + i, 90));
  }
  account.keep_begin(at_seconds(1000.5));
  for (int i = 0; i < 10; ++i) {
    account.add(ok_reading(1001.0 + i, 40));
  }
  const auto metric = account.finish(at_seconds(1000.5), at_seconds(1010.0));
  EXPECT_EQ(metric->maximum, 40.0);
  EXPECT_EQ(metric->samples, 10U);
}

TEST(MetricAccount, ALaterBeginTakesThePlaceOfAnEarlierOne) {
  // A baseline of 20 s before the command; the begin is told two readings late.
  MetricAccount heat = account_of(RawUnit::kCelsius);
  MetricAccount time = account_of(RawUnit::kMicrosecond, Behavior::kCounter);
  for (MetricAccount* account : {&heat, &time}) {
    account->keep_begin(at_seconds(100.0));
    for (int i = 0; i <= 22; ++i) {
      const auto n = static_cast<std::uint64_t>(i);
      account->add(ok_reading(100.0 + i, account == &heat ? (i <= 20 ? 30 : 70) : n * 1'000'000));
    }
    account->keep_begin(at_seconds(120.5));
    for (int i = 23; i <= 30; ++i) {
      const auto n = static_cast<std::uint64_t>(i);
      account->add(ok_reading(100.0 + i, account == &heat ? 70 : n * 1'000'000));
    }
  }
  const auto celsius = heat.finish(at_seconds(120.5), at_seconds(130.0));
  EXPECT_EQ(celsius->minimum, 70.0);
  EXPECT_EQ(celsius->samples, 10U);
  const auto seconds = time.finish(at_seconds(120.5), at_seconds(130.0));
  EXPECT_NEAR(*seconds->difference, 10.0, 1e-9) << "from the last reading before the begin";
}

TEST(MetricAccount, CounterGivesDifferenceAndRateAndSurvivesAReset) {
  MetricAccount account = account_of(RawUnit::kMicrosecond, Behavior::kCounter);
  account.add(ok_reading(98.0, 1'000'000));
  account.add(ok_reading(99.5, 2'000'000));  // the base: the last reading before the begin
  account.keep_begin(at_seconds(100.0));
  account.add(ok_reading(101.0, 5'000'000));
  account.add(ok_reading(102.0, 500'000));  // started anew
  account.add(ok_reading(103.0, 1'500'000));
  account.add(ok_reading(104.5, 3'000'000));  // the first after the end
  account.add(ok_reading(106.0, 9'000'000));
  const auto metric = account.finish(at_seconds(100.0), at_seconds(104.0));
  ASSERT_TRUE(metric);
  EXPECT_EQ(metric->unit, "s");
  EXPECT_NEAR(*metric->difference, 3.0 + 1.0 + 1.5, 1e-9);
  EXPECT_NEAR(*metric->mean_rate, 5.5 / 5.0, 1e-9);
  EXPECT_FALSE(metric->mean);
}

TEST(MetricAccount, ACounterCountsFromABeginThatIsKnownBefore) {
  MetricAccount account = account_of(RawUnit::kMicrosecond, Behavior::kCounter);
  account.keep_begin(at_seconds(105.0));  // a journal that began with a baseline is read again
  for (int i = 0; i <= 10; ++i) {
    account.add(ok_reading(100.0 + i, 2'000'000 * static_cast<std::uint64_t>(i)));
  }
  const auto metric = account.finish(at_seconds(105.0), at_seconds(110.0));
  EXPECT_DOUBLE_EQ(*metric->difference, 10.0);
  EXPECT_DOUBLE_EQ(*metric->mean_rate, 2.0);
  EXPECT_EQ(metric->samples, 6U);
}

TEST(MetricAccount, EachBitHasItsShareOfTheTime) {
  MetricAccount account = account_of(RawUnit::kBitMask);
  account.keep_begin(at_seconds(100.0));
  for (int i = 0; i <= 100; ++i) {
    account.add(ok_reading(100.0 + i, (i < 25 ? 4U : 0U) | (i >= 50 ? 1ULL << 63 : 0U)));
  }
  const auto metric = account.finish(at_seconds(100.0), at_seconds(200.0));
  ASSERT_TRUE(metric);
  EXPECT_NEAR(metric->bit_shares.at("sw_power_cap"), 0.245, 1e-9);
  EXPECT_NEAR(metric->bit_shares.at("bit_63"), 0.505, 1e-9) << "a bit that nobody named";
  EXPECT_EQ(metric->bit_shares.at("hw_slowdown"), 0.0) << "named, read and never set";
  EXPECT_FALSE(metric->maximum) << "a mask has no order";
}

TEST(MetricAccount, GapsHaveNoWeightAndMissingValuesAreNotZero) {
  MetricAccount account = account_of(RawUnit::kPercent);
  account.keep_begin(at_seconds(100.0));
  account.add(ok_reading(100.0, 10));
  account.add(no_reading(101.0));
  account.add(ok_reading(102.0, 10));
  account.add(ok_reading(202.0, 90));  // 100 s without a reading
  account.add(ok_reading(204.0, 90));
  const auto metric = account.finish(at_seconds(100.0), at_seconds(204.0));
  EXPECT_NEAR(*metric->mean, 50.0, 1e-9);
  EXPECT_EQ(metric->minimum, 10.0);
  EXPECT_EQ(metric->samples, 4U);
}

TEST(MetricAccount, AShortRunTakesTheNearestReadings) {
  MetricAccount account = account_of(RawUnit::kByte);
  account.add(ok_reading(99.999, 100));
  account.keep_begin(at_seconds(100.0));
  account.add(ok_reading(100.011, 300));
  const auto metric = account.finish(at_seconds(100.0), at_seconds(100.01));
  ASSERT_TRUE(metric);
  EXPECT_EQ(metric->samples, 2U);
  EXPECT_EQ(metric->maximum, 300.0);
  EXPECT_NEAR(*metric->mean, 200.0, 10.0);
}

TEST(MetricAccount, StatesStandForTheReadingsBetweenThem) {
  for (const auto& [unit, behavior] : {std::pair{RawUnit::kPercent, Behavior::kGauge},
                                       {RawUnit::kMicrosecond, Behavior::kCounter},
                                       {RawUnit::kBitMask, Behavior::kGauge}}) {
    MetricAccount whole = account_of(unit, behavior);
    MetricAccount thinned = account_of(unit, behavior);
    whole.keep_begin(at_seconds(100.5));
    thinned.keep_begin(at_seconds(100.5));
    MetricState from;
    for (int i = 0; i <= 100; ++i) {
      const auto n = static_cast<std::uint64_t>(i);
      const RawReading reading =
          ok_reading(100.0 + i, behavior == Behavior::kCounter ? n * n : (n * 7) % 90);
      whole.add(reading);
      if (i <= 20 || i > 60) {
        thinned.add(reading);
      }
      if (i == 20) {
        from = whole.state();
      }
      if (i == 60) {
        const MetricState to = whole.state();
        thinned.skip(from, to);
        EXPECT_EQ(thinned.last_time(), at_seconds(160.0));
      }
    }
    const auto expected = whole.finish(at_seconds(100.5), at_seconds(199.5));
    const auto found = thinned.finish(at_seconds(100.5), at_seconds(199.5));
    EXPECT_EQ(found->samples, expected->samples);
    EXPECT_EQ(found->minimum, expected->minimum);
    EXPECT_EQ(found->maximum, expected->maximum);
    EXPECT_EQ(found->difference, expected->difference);
    EXPECT_NEAR(found->mean.value_or(0.0), expected->mean.value_or(0.0), 1e-9);
    EXPECT_EQ(found->mean_rate, expected->mean_rate);
    ASSERT_EQ(found->bit_shares.size(), expected->bit_shares.size());
    for (const auto& [bit, share] : expected->bit_shares) {
      EXPECT_NEAR(found->bit_shares.at(bit), share, 1e-9) << bit;
    }
  }
}

TEST(MetricAccount, SkippedReadingsBeforeTheBeginDoNotCount) {
  MetricAccount live = account_of(RawUnit::kCelsius);
  MetricAccount replayed = account_of(RawUnit::kCelsius);
  live.keep_begin(at_seconds(100.0));  // a baseline's
  replayed.keep_begin(at_seconds(150.5));
  for (int i = 0; i <= 50; ++i) {
    live.add(ok_reading(100.0 + i, 90));
  }
  replayed.skip(MetricState(), live.state());
  for (int i = 51; i <= 60; ++i) {
    replayed.add(ok_reading(100.0 + i, 40));
  }
  const auto metric = replayed.finish(at_seconds(150.5), at_seconds(160.0));
  EXPECT_EQ(metric->samples, 10U);
  EXPECT_EQ(metric->maximum, 40.0);
  EXPECT_EQ(*metric->mean, 40.0) << "the readings inside tell what was at the edge";
}

TEST(MetricAccount, NothingReadIsNoMetric) {
  MetricAccount account = account_of(RawUnit::kByte);
  account.add(no_reading(100.0));
  EXPECT_FALSE(account.finish(at_seconds(100.0), at_seconds(101.0)));
  MetricAccount counter = account_of(RawUnit::kMicrosecond, Behavior::kCounter);
  counter.add(ok_reading(100.5, 7));
  const auto once = counter.finish(at_seconds(100.0), at_seconds(101.0));
  ASSERT_TRUE(once);
  EXPECT_FALSE(once->difference) << "one reading of a counter says nothing";
}

TEST(MetricAccount, OneReadingTwiceIsOne) {
  MetricAccount account = account_of(RawUnit::kPercent);
  account.keep_begin(at_seconds(100.0));
  for (const double t : {100.0, 100.0, 101.0, 100.5, 102.0}) {
    account.add(ok_reading(t, 10));
  }
  EXPECT_EQ(account.finish(at_seconds(100.0), at_seconds(102.0))->samples, 3U);
}

}  // namespace
}  // namespace joulescale
