// SPDX-License-Identifier: Apache-2.0
// A node's energy at any time, out of the journals of its ranks.
#include "joulescale/monitor/node_replay.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "joulescale/monitor/journal.h"

#include "tests/support/counter_feed.h"
#include "tests/support/temp_dir.h"

namespace joulescale {
namespace {

using testing::at_seconds;
using testing::counter_channel;
using testing::kSamplePeriod;
using testing::ok_reading;
using testing::TempDir;

Channel package(int number, const std::string& source) {
  Channel channel = counter_channel(262'143'328'850);
  channel.name = source + "/package-" + std::to_string(number);
  channel.overlap_group = "package-" + std::to_string(number);
  if (source == "perf") {
    channel.unit = RawUnit::kJouleOver2To16;
    channel.counter_range.reset();
  }
  return channel;
}

/// Package 0 takes 100 W and a wave, package 1 half of it.
double package_joules(int number, double t) {
  return (100.0 * t + 50.0 * (1.0 - std::cos(t))) / (number + 1);
}

class NodeReplayTest : public ::testing::Test {
 protected:
  NodeReplayTest() { std::filesystem::create_directories(node_.path); }

  /// A rank that reads some packages from one time to another.
  void write_journal(int rank,
                     const std::vector<int>& packages,
                     double from_s,
                     double to_s,
                     const std::string& source = "powercap") {
    JournalWriter journal = JournalWriter::create(node_.journal(rank)).value();
    std::vector<Channel> channels;
    channels.reserve(packages.size());
    for (const int number : packages) {
      channels.push_back(package(number, source));
    }
    ASSERT_TRUE(journal.sensor(0, kSamplePeriod, channels).ok());
    const double per_joule = 1.0 / si_per_raw_unit(channels.front().unit);
    int rows = 0;
    for (const double t : testing::times(from_s, to_s + 0.05, 0.1)) {
      std::vector<RawReading> row;
      row.reserve(packages.size());
      for (const int number : packages) {
        row.push_back(ok_reading(
            1000.0 + t, static_cast<std::uint64_t>(package_joules(number, t) * per_joule)));
      }
      ASSERT_TRUE(journal.readings(0, row).ok());
      if (++rows % 10 == 0) {
        ASSERT_TRUE(journal.sync().ok());
      }
    }
    ASSERT_TRUE(journal.sync().ok());
  }

  NodeEnergy totals(Nanoseconds begin, Nanoseconds end) const {
    auto replay = NodeReplay::open(node_);
    EXPECT_TRUE(replay.ok());
    NodeMeter meter(NodeMeter::Keep::kTotals);
    meter.keep_begin(begin);
    while (replay->feed(meter).value()) {
    }
    return meter.finish(begin, end);
  }

  TempDir directory_;
  NodeDirectory node_{directory_ / "node"};
};

TEST_F(NodeReplayTest, TimelineFollowsAllPackages) {
  write_journal(0, {0}, 0.0, 500.0);
  write_journal(1, {1}, 0.0, 500.0);
  const Nanoseconds begin = at_seconds(1000.5);
  const Nanoseconds end = at_seconds(1490.0);
  const NodeEnergy energy = totals(begin, end);
  ASSERT_EQ(energy.counted.size(), 2U);
  auto timeline = NodeTimeline::open(node_, energy, begin, end);
  ASSERT_TRUE(timeline.ok());
  EXPECT_TRUE(timeline->has_measured());
  EXPECT_FALSE(timeline->has_estimated());
  const auto node_joules = [](double t) { return package_joules(0, t) + package_joules(1, t); };
  for (const double t : testing::times(0.5, 490.0, 0.37)) {
    EXPECT_NEAR(timeline->at(at_seconds(1000.0 + t)).measured.value(),
                node_joules(t) - node_joules(0.5),
                0.3);
  }
  const double whole = timeline->at(end).measured.value();
  EXPECT_NEAR(whole, energy.mean_power->value() * 489.5, 1e-6 * whole);
  EXPECT_DOUBLE_EQ(timeline->at(begin).measured.value(), whole) << "times only grow";
}

TEST_F(NodeReplayTest, MetricsComeBackAsTheyWereSeen) {
  const std::vector<Channel> channels = {
      testing::metric_channel("nvml/GPU-1/temperature", RawUnit::kCelsius),
      testing::metric_channel("nvml/GPU-1/throttle_reasons", RawUnit::kBitMask),
      testing::metric_channel("load/node/cpu_time", RawUnit::kMicrosecond, Behavior::kCounter)};
  const Nanoseconds begin = at_seconds(1000.4);
  const Nanoseconds end = at_seconds(1090.7);
  NodeMeter live(NodeMeter::Keep::kTotals);
  live.add_sensor(channels, std::chrono::seconds(1));
  write_journal(0, {0}, 0.0, 95.0);
  JournalWriter journal = JournalWriter::create(node_.journal(1)).value();
  ASSERT_TRUE(journal.sensor(0, std::chrono::seconds(1), channels).ok());
  for (int i = 0; i < 95; ++i) {
    const auto n = static_cast<std::uint64_t>(i);
    std::vector<RawReading> row = {ok_reading(1000.0 + i, 40 + n % 30),
                                   ok_reading(1000.0 + i, i % 4 == 0 ? 4U : 0U),
                                   ok_reading(1000.0 + i, n * 1'500'000)};
    if (i % 10 == 7) {
      row[0] = testing::no_reading(1000.0 + i);
    }
    live.add(0, row);
    ASSERT_TRUE(journal.readings(0, row).ok());
    if (i == 3) {
      live.keep_begin(begin);
      ASSERT_TRUE(journal.sync().ok());
    }
  }
  ASSERT_TRUE(journal.sync().ok());
  const std::vector<MetricRecord> expected = live.finish(begin, end).metrics;
  const std::vector<MetricRecord> found = totals(begin, end).metrics;
  ASSERT_EQ(expected.size(), 3U);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].name, expected[i].name);
    EXPECT_EQ(found[i].unit, expected[i].unit);
    EXPECT_EQ(found[i].samples, expected[i].samples);
    EXPECT_EQ(found[i].minimum, expected[i].minimum);
    EXPECT_EQ(found[i].maximum, expected[i].maximum);
    EXPECT_EQ(found[i].difference, expected[i].difference);
    // Journal times are rounded to 128 ns.
    EXPECT_NEAR(found[i].mean.value_or(-1.0), expected[i].mean.value_or(-1.0), 1e-4);
    EXPECT_EQ(found[i].bit_shares.size(), expected[i].bit_shares.size());
  }
  EXPECT_NEAR(found[2].bit_shares.at("sw_power_cap"), 0.25, 0.01);
}

TEST_F(NodeReplayTest, ASourceThatAnotherRankTookOverIsOneSource) {
  write_journal(0, {0, 1}, 0.0, 200.0);
  write_journal(1, {0, 1}, 201.3, 400.0);  // rank 0 was killed
  const Nanoseconds begin = at_seconds(1001.0);
  const Nanoseconds end = at_seconds(1399.0);
  const NodeEnergy energy = totals(begin, end);
  ASSERT_EQ(energy.groups.size(), 2U);
  const double expected = package_joules(0, 399.0) - package_joules(0, 1.0);
  EXPECT_NEAR(energy.groups[0].energy.energy.value(), expected, 0.3);
  auto timeline = NodeTimeline::open(node_, energy, begin, end);
  ASSERT_TRUE(timeline.ok());
  EXPECT_NEAR(timeline->at(at_seconds(1200.65)).measured.value(),
              1.5 * (package_joules(0, 200.65) - package_joules(0, 1.0)),
              200.0 * 1.3)
      << "within the gap nothing is known but its ends";
  EXPECT_NEAR(timeline->at(end).measured.value(), 1.5 * expected, 0.5);
}

TEST_F(NodeReplayTest, PowercapOfOneRankAndPerfOfAnotherAreTheSameJoules) {
  write_journal(0, {0, 1}, 0.0, 200.0, "powercap");
  write_journal(1, {0, 1}, 0.0, 200.0, "perf");
  const Nanoseconds begin = at_seconds(1001.0);
  const Nanoseconds end = at_seconds(1199.0);
  const NodeEnergy energy = totals(begin, end);
  ASSERT_EQ(energy.counted.size(), 2U);
  EXPECT_EQ(energy.counted[0].name, "powercap/package-0");
  EXPECT_EQ(energy.counted[1].name, "powercap/package-1");
  EXPECT_EQ(energy.sources.size(), 4U);
  const double expected = 1.5 * (package_joules(0, 199.0) - package_joules(0, 1.0));
  EXPECT_NEAR(energy.mean_power->value() * 198.0, expected, 1.0);
  auto timeline = NodeTimeline::open(node_, energy, begin, end);
  ASSERT_TRUE(timeline.ok());
  EXPECT_NEAR(timeline->at(end).measured.value(), expected, 1.0);
}

TEST_F(NodeReplayTest, ASourceThatEndsEarlyHoldsNobodyUp) {
  write_journal(0, {0}, 0.0, 50.0);
  write_journal(1, {1}, 0.0, 400.0);
  const Nanoseconds begin = at_seconds(1001.0);
  const Nanoseconds end = at_seconds(1399.0);
  auto timeline = NodeTimeline::open(node_, totals(begin, end), begin, end);
  ASSERT_TRUE(timeline.ok());
  const double at_300 = timeline->at(at_seconds(1300.0)).measured.value();
  EXPECT_NEAR(at_300,
              package_joules(0, 50.0) - package_joules(0, 1.0) + package_joules(1, 300.0) -
                  package_joules(1, 1.0),
              15.0);
}

TEST_F(NodeReplayTest, EndsBeforeATimeThatIsGiven) {
  write_journal(0, {0}, 0.0, 500.0);
  write_journal(1, {1}, 0.0, 500.0);
  NodeReplay replay = NodeReplay::open(node_, at_seconds(1100.05)).value();
  NodeMeter meter(NodeMeter::Keep::kTotals);
  meter.keep_begin(at_seconds(1010.0));
  int blocks = 0;
  while (replay.feed(meter).value()) {
    ++blocks;
  }
  EXPECT_LT(blocks, 400) << "of 1000: the rest is not read";
  const NodeEnergy energy = meter.finish(at_seconds(1010.0), at_seconds(1100.05));
  ASSERT_EQ(energy.sources.size(), 2U);
  for (const SourceRecord& source : energy.sources) {
    EXPECT_NEAR(static_cast<double>(source.samples), 1001.0, 1.0);
  }
  EXPECT_NEAR(energy.groups[0].energy.energy.value(),
              package_joules(0, 100.05) - package_joules(0, 10.0),
              0.5);
}

TEST_F(NodeReplayTest, NoJournalsAreNoEnergy) {
  const NodeEnergy energy = totals(at_seconds(1000.0), at_seconds(1001.0));
  EXPECT_TRUE(energy.counted.empty());
  auto timeline = NodeTimeline::open(node_, energy, at_seconds(1000.0), at_seconds(1001.0));
  ASSERT_TRUE(timeline.ok());
  EXPECT_FALSE(timeline->has_measured());
  EXPECT_EQ(timeline->at(at_seconds(1000.5)).measured, Joules(0.0));
}

}  // namespace
}  // namespace joulescale
