// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/marks_summary.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>

#include <gtest/gtest.h>

#include "joulescale/monitor/marks/mark_writer.h"

#include "tests/support/counter_feed.h"
#include "tests/support/fake_clock.h"
#include "tests/support/steady_timeline.h"
#include "tests/support/temp_dir.h"

namespace joulescale {
namespace {

using testing::FakeClock;
using testing::TempDir;
using namespace std::chrono_literals;

/// 100 W measured and 10 W estimated from the clock's start on, known every 0.1 s.
class MarksSummaryTest : public ::testing::Test {
 protected:
  MarksSummaryTest() : begin_(clock_.monotonic_now()), end_(begin_ + 100s) {}

  MarksSummary summarise() const {
    testing::SteadyTimeline timeline(begin_, Watts(100.0), Watts(10.0), 100ms);
    return summarise_marks(directory_.path(), &timeline, begin_, end_);
  }
  MarkWriter writer() {
    clock_.advance(1ns);  // file names hold the time
    return MarkWriter::create(directory_.path(), clock_).value();
  }

  TempDir directory_;
  FakeClock clock_;
  Nanoseconds begin_;
  Nanoseconds end_;
};

TEST_F(MarksSummaryTest, RegionGetsTheNodesEnergyOfItsTime) {
  MarkWriter marks = writer();
  marks.register_rank(0, 1, "cpu_rank", "");
  const RegionId forward = marks.region("forward");
  for (int i = 0; i < 3; ++i) {
    marks.begin(forward);
    clock_.advance(2s);
    marks.end(forward);
    clock_.advance(1s);
  }
  marks.add(MarkCounter::kSamples, 64);
  marks.flush();
  const MarksSummary summary = summarise();
  ASSERT_EQ(summary.regions.size(), 1U);
  EXPECT_EQ(summary.regions[0].count, 3U);
  EXPECT_DOUBLE_EQ(summary.regions[0].duration.value(), 6.0);
  EXPECT_NEAR(summary.regions[0].energy->value(), 600.0, 1e-6);
  EXPECT_NEAR(summary.regions[0].estimated->value(), 60.0, 1e-6);
  EXPECT_NEAR(summary.regions[0].uncertainty->value(), 600.0 * 0.1 / 2.0 / 2.0, 1e-6);
  EXPECT_EQ(summary.registered_ranks, 1);
  ASSERT_TRUE(summary.training.has_value());
  EXPECT_EQ(summary.training->samples, 64);
  EXPECT_TRUE(summary.training->phases.empty());  // no training record, no phases
}

TEST_F(MarksSummaryTest, RanksOfANodeShareItsEnergy) {
  for (int rank = 0; rank < 2; ++rank) {
    FakeClock clock;
    clock.advance(Nanoseconds(rank + 5));
    MarkWriter marks = MarkWriter::create(directory_.path(), clock).value();
    marks.register_rank(rank, 2, "cpu_rank", "");
    marks.set_training(R"({"model": "resnet8", "seed": 3})");
    const RegionId step = marks.region("step");
    marks.begin(step);
    clock.advance(10s);
    marks.end(step);
    marks.add(MarkCounter::kSamples, 100);
    marks.add(MarkCounter::kUpdates, 7);
  }
  const MarksSummary summary = summarise();
  ASSERT_EQ(summary.regions.size(), 1U);
  EXPECT_DOUBLE_EQ(summary.regions[0].duration.value(), 20.0);    // summed over ranks
  EXPECT_NEAR(summary.regions[0].energy->value(), 1000.0, 1e-3);  // not 2000
  EXPECT_EQ(summary.training->samples, 200);                      // summed
  EXPECT_EQ(summary.training->updates, 7);                        // each rank counts each step
  EXPECT_EQ(summary.training->model, "resnet8");
  EXPECT_NEAR(summary.training->phases.at("step").energy->value(), 1000.0, 1e-3);
}

TEST_F(MarksSummaryTest, RegionShorterThanTheResolutionIsFullyUncertain) {
  MarkWriter marks = writer();
  const RegionId tiny = marks.region("tiny");
  for (int i = 0; i < 100; ++i) {
    marks.begin(tiny);
    clock_.advance(10ms);
    marks.end(tiny);
    clock_.advance(10ms);
  }
  marks.flush();
  const RegionRecord region = summarise().regions.at(0);
  EXPECT_NEAR(region.energy->value(), 100.0, 1e-6);
  EXPECT_NEAR(region.uncertainty->value(), region.energy->value(), 1e-6);
}

TEST_F(MarksSummaryTest, RecursionOpenEndsAndTimesOutsideTheRunAreTamed) {
  MarkWriter marks = writer();
  const RegionId outer = marks.region("outer");
  const RegionId open = marks.region("open");
  marks.begin(outer);
  marks.begin(outer);
  clock_.advance(5s);
  marks.end(outer);
  clock_.advance(5s);
  marks.end(outer);
  marks.end(outer);  // once too often
  marks.begin(open);
  clock_.advance(2s);
  marks.add(MarkCounter::kUpdates, 1);  // the last sign of life
  const RegionId late = marks.region("late");
  clock_.advance(200s);
  marks.begin(late);
  clock_.advance(1s);
  marks.end(late);
  marks.flush();
  const MarksSummary summary = summarise();
  EXPECT_EQ(summary.regions.at(0).name, "late");
  EXPECT_DOUBLE_EQ(summary.regions.at(0).duration.value(), 0.0);
  EXPECT_EQ(summary.regions.at(2).name, "outer");
  EXPECT_EQ(summary.regions.at(2).count, 1U);
  EXPECT_NEAR(summary.regions.at(2).energy->value(), 1000.0, 1e-3);
  EXPECT_LE(summary.regions.at(1).energy->value(), 9000.0);
}

TEST_F(MarksSummaryTest, OnlyTopLevelRegionsArePhases) {
  MarkWriter marks = writer();
  marks.set_training(R"({"model": "m"})");
  const RegionId forward = marks.region("forward");
  const RegionId layer = marks.region("layer");
  marks.begin(forward);
  marks.begin(layer);
  clock_.advance(1s);
  marks.end(layer);
  marks.end(forward);
  marks.flush();
  const MarksSummary summary = summarise();
  EXPECT_EQ(summary.regions.size(), 2U);
  ASSERT_EQ(summary.training->phases.size(), 1U);
  EXPECT_TRUE(summary.training->phases.contains("forward"));
}

TEST_F(MarksSummaryTest, FilesAreTakenTogetherInTheOrderOfTime) {
  MarkWriter first = writer();
  MarkWriter second = writer();
  const RegionId first_step = first.region("step");
  const RegionId second_step = second.region("step");
  for (int i = 0; i < 10; ++i) {
    first.begin(first_step);
    clock_.advance(1s);
    second.begin(second_step);
    first.end(first_step);
    clock_.advance(2s);
    second.end(second_step);
  }
  first.flush();
  second.flush();
  const MarksSummary summary = summarise();
  ASSERT_EQ(summary.regions.size(), 1U);
  EXPECT_EQ(summary.regions[0].count, 20U);
  EXPECT_DOUBLE_EQ(summary.regions[0].duration.value(), 30.0);
  EXPECT_NEAR(summary.regions[0].energy->value(), 3000.0, 1e-6) << "two threads of one process";
}

TEST_F(MarksSummaryTest, WithoutATimelineRegionsHaveTimesAndNoEnergy) {
  MarkWriter marks = writer();
  const RegionId step = marks.region("step");
  marks.begin(step);
  clock_.advance(3s);
  marks.end(step);
  marks.flush();
  const MarksSummary summary = summarise_marks(directory_.path(), nullptr, begin_, end_);
  ASSERT_EQ(summary.regions.size(), 1U);
  EXPECT_DOUBLE_EQ(summary.regions[0].duration.value(), 3.0);
  EXPECT_FALSE(summary.regions[0].energy.has_value());
  EXPECT_FALSE(summary.regions[0].uncertainty.has_value());
}

TEST_F(MarksSummaryTest, DamagedFilesAndWrongRecordsAreNotes) {
  std::ofstream(directory_ / "1-1.marks") << "this is no log of marks";
  MarkWriter marks = writer();
  marks.set_training("{\"model\": 7}");
  marks.flush();
  const MarksSummary summary = summarise();
  EXPECT_EQ(summary.notes.size(), 2U);
  EXPECT_TRUE(summarise_marks("/nonexistent", nullptr, begin_, end_).regions.empty());
}

TEST_F(MarksSummaryTest, TimeGrowsWithTheMarksAndNotWithTheirSquare) {
  constexpr int kFew = 20'000;
  constexpr int kTimes = 8;
  std::chrono::steady_clock::duration took[2] = {};
  MarkWriter marks = writer();
  const std::array<RegionId, 2> regions = {marks.region("a"), marks.region("b")};
  int written = 0;
  for (const int count : {kFew, kTimes * kFew}) {
    for (; written < count; ++written) {
      for (const RegionId region : regions) {
        marks.begin(region);
        clock_.advance(100us);
        marks.end(region);
      }
    }
    marks.flush();
    const auto started = std::chrono::steady_clock::now();
    const MarksSummary summary = summarise();
    took[count == kFew ? 0 : 1] = std::chrono::steady_clock::now() - started;
    EXPECT_EQ(summary.regions.at(0).count, static_cast<std::uint64_t>(count));
    EXPECT_NEAR(summary.regions[0].energy->value() + summary.regions[1].energy->value(),
                100.0 * 2e-4 * count,
                0.1);
  }
  // Squares would be 64 times as long.
  EXPECT_LT(took[1], 4 * kTimes * std::max<std::chrono::steady_clock::duration>(took[0], 1ms));
}

}  // namespace
}  // namespace joulescale
