// SPDX-License-Identifier: Apache-2.0
#include "joulescale/train/schedule.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace joulescale {
namespace {

std::vector<double> rates(const ScheduleOptions& schedule) {
  std::vector<double> all;
  for (std::int64_t update = 0; update < schedule.updates; ++update) {
    all.push_back(learning_rate_at(schedule, update));
  }
  return all;
}

/// PyTorch's OneCycleLR(max_lr=0.1, total_steps=10, pct_start=0.3): its documented formula with
/// the phases [0, 2] and [2, 9], computed by hand.
TEST(Schedule, OneCycleIsPyTorchs) {
  const auto all = rates({.kind = ScheduleKind::kOneCycle, .peak = 0.1, .updates = 10});
  EXPECT_DOUBLE_EQ(all[0], 0.004);
  EXPECT_DOUBLE_EQ(all[1], (0.004 + 0.1) / 2);
  EXPECT_DOUBLE_EQ(all[2], 0.1);
  EXPECT_NEAR(all[3], 4e-7 + (0.1 - 4e-7) / 2 * (1 + std::cos(M_PI / 7)), 1e-15);
  EXPECT_NEAR(all[9], 4e-7, 1e-15);
}

TEST(Schedule, CosineWarmsUpLinearlyAndEndsNearZero) {
  const auto all =
      rates({.kind = ScheduleKind::kCosine, .peak = 1.0, .warmup_fraction = 0.4, .updates = 10});
  EXPECT_DOUBLE_EQ(all[0], 0.25);  // never 0
  EXPECT_DOUBLE_EQ(all[3], 1.0);
  EXPECT_DOUBLE_EQ(all[4], 1.0);
  EXPECT_NEAR(all[7], 0.5, 1e-15);
  EXPECT_GT(all[9], 0.0);
}

TEST(Schedule, ConstantStaysAtThePeak) {
  for (const double rate : rates({.kind = ScheduleKind::kConstant, .peak = 0.3, .updates = 5})) {
    EXPECT_DOUBLE_EQ(rate, 0.3);
  }
}

TEST(Schedule, ShortRunsHaveFiniteRates) {
  for (const auto kind : {ScheduleKind::kOneCycle, ScheduleKind::kCosine}) {
    for (const double warmup : {0.0, 0.3, 1.0}) {
      for (std::int64_t updates = 1; updates < 6; ++updates) {
        for (const double rate : rates({kind, 0.1, warmup, updates})) {
          EXPECT_GE(rate, 0.0);
          EXPECT_LE(rate, 0.1 * (1.0 + 1e-12));  // rounding
        }
      }
    }
  }
}

TEST(Schedule, PeakScalesWithTheBatchUpToTheCap) {
  EXPECT_DOUBLE_EQ(peak_learning_rate(0.1, 64, 64, 0.4), 0.1);
  EXPECT_DOUBLE_EQ(peak_learning_rate(0.1, 128, 64, 0.4), 0.2);
  EXPECT_DOUBLE_EQ(peak_learning_rate(0.1, 512, 64, 0.4), 0.4);
  EXPECT_DOUBLE_EQ(peak_learning_rate(0.1, 512, 64, 0.0), 0.8);
  EXPECT_DOUBLE_EQ(peak_learning_rate(0.1, 512, 0, 0.0), 0.1);
}

TEST(Schedule, NamesAreKnown) {
  EXPECT_EQ(schedule_from_name("one-cycle"), ScheduleKind::kOneCycle);
  EXPECT_EQ(schedule_from_name("constant"), ScheduleKind::kConstant);
  EXPECT_EQ(schedule_from_name("cosine"), ScheduleKind::kCosine);
  EXPECT_FALSE(schedule_from_name("step").has_value());
}

}  // namespace
}  // namespace joulescale
