// SPDX-License-Identifier: Apache-2.0
// A journal that keeps to its size says the same as one that kept everything.
#include "joulescale/monitor/journal_rotation.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <vector>

#include <gtest/gtest.h>

#include "joulescale/monitor/node_replay.h"

#include "tests/support/counter_feed.h"
#include "tests/support/temp_dir.h"

namespace joulescale {
namespace {

namespace fs = std::filesystem;

using testing::at_seconds;
using testing::counter_channel;
using testing::kSamplePeriod;
using testing::ok_reading;
using testing::TempDir;

constexpr double kStart = 1000.0;
constexpr double kBegin = 1100.05;
constexpr std::uint64_t kSmallRange = 50'000'000;  // 50 J: goes round about every 0.4 s at 125 W

std::vector<Channel> channels() {
  Channel package = counter_channel(262'143'328'850);
  package.name = "powercap/package-0";
  Channel dram = counter_channel(kSmallRange);
  dram.name = "powercap/package-0/dram";
  dram.domain = Domain::kDram;
  dram.plausible_power = Watts(200.0);
  Channel power;
  power.name = "nvml/GPU-0/power";
  power.quantity = Quantity::kPower;
  power.behavior = Behavior::kGauge;
  power.domain = Domain::kGpu;
  power.unit = RawUnit::kMilliwatt;
  power.overlap_group = "GPU-0";
  power.provenance = Provenance::kIntegrated;
  return {package, dram, power};
}

double joules(double t) { return 100.0 * t + 80.0 * (1.0 - std::cos(t)); }

/// Row number `i` of a run in which everything happens: lost readings, a reset, a gap.
std::vector<RawReading> row(int i, double t) {
  const double energy = joules(t - kStart) * 1e6;
  const double since_reset = t < kStart + 900.0 ? energy : energy - joules(900.0) * 1e6;
  std::vector<RawReading> row = {
      ok_reading(t, static_cast<std::uint64_t>(since_reset)),
      ok_reading(t, static_cast<std::uint64_t>(energy / 2) % (kSmallRange + 1)),
      ok_reading(t, static_cast<std::uint64_t>(1000.0 * (100.0 + 80.0 * std::sin(t - kStart))))};
  if (i % 97 == 0) {
    row[static_cast<std::size_t>(i / 97 % 3)].status = ReadStatus::kMissing;
  }
  return row;
}

class JournalRotationTest : public ::testing::Test {
 protected:
  JournalRotationTest() {
    fs::create_directories(thinned_.path);
    fs::create_directories(whole_.path);
  }

  /// The same readings into a journal of this size and into one that keeps everything.
  void record(double until_s, const JournalLimits& limits) {
    auto thinned = RotatingJournal::create(JournalFiles{thinned_.journal(0)}, limits).value();
    JournalWriter whole = JournalWriter::create(whole_.journal(0)).value();
    NodeMeter meter(NodeMeter::Keep::kTotals);
    ASSERT_EQ(meter.add_sensor(channels(), kSamplePeriod), 0U);
    ASSERT_TRUE(thinned.start(at_seconds(kStart), {}, {}).ok());
    ASSERT_TRUE(thinned.sensor(0, kSamplePeriod, channels()).ok());
    ASSERT_TRUE(whole.sensor(0, kSamplePeriod, channels()).ok());
    bool begun = false;
    const std::vector<double> reading_times = testing::times(kStart, kStart + until_s, 0.1);
    for (int i = 0; i < std::ssize(reading_times); ++i) {
      const double t = reading_times[static_cast<std::size_t>(i)];
      if (t > kStart + 300.0 && t < kStart + 310.0) {
        continue;  // the machine was busy
      }
      if (!begun && t > kBegin) {
        begun = true;
        meter.keep_begin(at_seconds(kBegin));
        ASSERT_TRUE(thinned.begin(at_seconds(kBegin), meter).ok());
        ASSERT_TRUE(whole.begin(at_seconds(kBegin)).ok());
      }
      if (i % 50 == 0) {
        meter.add_missed(0, 3);
        ASSERT_TRUE(thinned.missed(0, 3).ok());
        ASSERT_TRUE(whole.missed(0, 3).ok());
      }
      const auto readings = row(i, t);
      meter.add(0, readings);
      ASSERT_TRUE(thinned.readings(0, readings).ok());
      ASSERT_TRUE(whole.readings(0, readings).ok());
      if (i % 100 == 99) {
        ASSERT_TRUE(thinned.sync(at_seconds(t), meter).ok());
        ASSERT_TRUE(whole.sync().ok());
        most_bytes_ = std::max(most_bytes_, bytes(thinned_));
      }
    }
    end_ = at_seconds(kStart + until_s - 0.25);
    ASSERT_TRUE(thinned.end(end_, false, 0).ok());
    ASSERT_TRUE(thinned.sync(at_seconds(kStart + until_s), meter).ok());
    ASSERT_TRUE(whole.sync().ok());
  }

  static std::size_t bytes(const NodeDirectory& node) {
    std::size_t sum = 0;
    for (const auto& entry : fs::directory_iterator(node.path)) {
      sum += entry.file_size();
    }
    return sum;
  }

  NodeEnergy totals(const NodeDirectory& node) const {
    auto replay = NodeReplay::open(node);
    EXPECT_TRUE(replay.ok());
    NodeMeter meter(NodeMeter::Keep::kTotals);
    meter.keep_begin(at_seconds(kBegin));
    while (replay->feed(meter).value()) {
    }
    return meter.finish(at_seconds(kBegin), end_);
  }

  TempDir directory_;
  NodeDirectory thinned_{directory_ / "thinned"};
  NodeDirectory whole_{directory_ / "whole"};
  Nanoseconds end_{0};
  std::size_t most_bytes_ = 0;
};

void expect_same(const NodeEnergy& a, const NodeEnergy& b) {
  ASSERT_EQ(a.groups.size(), b.groups.size());
  for (std::size_t i = 0; i < a.groups.size(); ++i) {
    const double energy = a.groups[i].energy.energy.value();
    EXPECT_GT(energy, 0.0);
    EXPECT_NEAR(b.groups[i].energy.energy.value(), energy, 1e-9 * energy) << a.groups[i].group;
    EXPECT_NEAR(b.groups[i].energy.uncertainty->value(),
                a.groups[i].energy.uncertainty->value(),
                1e-6 * energy);
  }
  ASSERT_EQ(a.sources.size(), b.sources.size());
  for (std::size_t i = 0; i < a.sources.size(); ++i) {
    EXPECT_EQ(a.sources[i].samples, b.sources[i].samples);
    EXPECT_EQ(a.sources[i].missed, b.sources[i].missed);
    EXPECT_EQ(a.sources[i].wraps, b.sources[i].wraps);
    EXPECT_EQ(a.sources[i].resets, b.sources[i].resets);
  }
  EXPECT_EQ(a.flags, b.flags);
}

TEST_F(JournalRotationTest, TotalsAndEventsAreThoseOfTheWholeJournal) {
  record(1300.0, {.budget_bytes = 65'536, .snapshot_period = std::chrono::seconds(20)});
  const NodeEnergy whole = totals(whole_);
  const NodeEnergy thinned = totals(thinned_);
  expect_same(whole, thinned);
  EXPECT_GT(whole.sources[1].wraps, 500U);
  EXPECT_EQ(whole.sources[0].resets, 1U);
  EXPECT_GT(bytes(whole_), 200'000U);
  EXPECT_LT(most_bytes_, 85'000U);
  EXPECT_TRUE(fs::exists(JournalFiles{thinned_.journal(0)}.history()));
  EXPECT_FALSE(fs::exists(thinned_.journal(0))) << "the history stands for it";
  EXPECT_LE(whole.coarsest_resolution, std::chrono::milliseconds(200));
  EXPECT_GE(thinned.coarsest_resolution, std::chrono::seconds(10));
}

TEST_F(JournalRotationTest, AHistoryThatGrowsTooLargeIsThinnedFurther) {
  record(2500.0, {.budget_bytes = 65'536, .snapshot_period = std::chrono::seconds(1)});
  expect_same(totals(whole_), totals(thinned_));
  EXPECT_LT(most_bytes_, 85'000U);
}

TEST_F(JournalRotationTest, NothingIsDroppedWithinTheBudget) {
  record(300.0,
         {.budget_bytes = std::size_t{1} << 20, .snapshot_period = std::chrono::seconds(20)});
  expect_same(totals(whole_), totals(thinned_));
  EXPECT_EQ(totals(thinned_).coarsest_resolution, totals(whole_).coarsest_resolution);
  EXPECT_EQ(JournalFiles{thinned_.journal(0)}.present()->size(), 1U);
}

TEST_F(JournalRotationTest, TheTimelineIsExactAtTheStatesThatWereKept) {
  record(1300.0, {.budget_bytes = 65'536, .snapshot_period = std::chrono::seconds(20)});
  const Nanoseconds begin = at_seconds(kBegin);
  auto exact = NodeTimeline::open(whole_, totals(whole_), begin, end_).value();
  auto coarse = NodeTimeline::open(thinned_, totals(thinned_), begin, end_).value();
  double widest_s = 0.0;
  for (const double t : testing::times(kBegin, kStart + 1299.0, 1.7)) {
    const double expected = exact.at(at_seconds(t)).measured.value();
    const double energy = coarse.at(at_seconds(t)).measured.value();
    const double resolution_s = to_seconds(coarse.resolution()).value();
    widest_s = std::max(widest_s, resolution_s);
    // Three channels of at most 180, 90 and 180 W.
    EXPECT_NEAR(energy, expected, 450.0 * resolution_s) << t;
  }
  EXPECT_GE(widest_s, 10.0);
  // The journal rounds the times of readings down by up to 128 ns.
  EXPECT_NEAR(coarse.at(end_).measured.value(), exact.at(end_).measured.value(), 450.0 * 128e-9);
}

TEST_F(JournalRotationTest, ASegmentThatItsHistoryStandsForIsNotCountedTwice) {
  record(1300.0, {.budget_bytes = 65'536, .snapshot_period = std::chrono::seconds(20)});
  // Killed between the history's rename and the segment's removal: the segment is still there.
  fs::copy_file(whole_.journal(0), thinned_.journal(0));
  expect_same(totals(whole_), totals(thinned_));
}

TEST_F(JournalRotationTest, AnUnfinishedHistoryIsIgnored) {
  record(300.0,
         {.budget_bytes = std::size_t{1} << 20, .snapshot_period = std::chrono::seconds(20)});
  const JournalFiles files{thinned_.journal(0)};
  std::ofstream(files.history().native() + ".new") << "torn";
  EXPECT_EQ(thinned_.journals(), std::vector{thinned_.journal(0)});
  expect_same(totals(whole_), totals(thinned_));
}

TEST_F(JournalRotationTest, ADamagedHistoryIsNamed) {
  record(1300.0, {.budget_bytes = 65'536, .snapshot_period = std::chrono::seconds(20)});
  const JournalFiles files{thinned_.journal(0)};
  std::ofstream(files.history()) << kHistoryMagic;
  const auto replay = NodeReplay::open(thinned_);
  ASSERT_FALSE(replay.ok());
  EXPECT_NE(replay.error().text().find("history"), std::string::npos);
}

TEST_F(JournalRotationTest, LeftBehindFilesCanBeRemoved) {
  record(1300.0, {.budget_bytes = 65'536, .snapshot_period = std::chrono::seconds(20)});
  JournalFiles{thinned_.journal(0)}.remove();
  EXPECT_TRUE(fs::is_empty(thinned_.path));
}

}  // namespace
}  // namespace joulescale
