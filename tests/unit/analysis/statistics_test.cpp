// SPDX-License-Identifier: Apache-2.0
#include "joulescale/analysis/statistics.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace joulescale {
namespace {

// Critical values of Student's t, two-sided 95 % (NIST/SEMATECH e-Handbook, 1.3.6.7.2).
TEST(Statistics, StudentQuantilesAreThePublishedOnes) {
  EXPECT_NEAR(student_t_quantile(0.975, 1), 12.706, 5e-4);
  EXPECT_NEAR(student_t_quantile(0.975, 2), 4.303, 5e-4);
  EXPECT_NEAR(student_t_quantile(0.975, 10), 2.228, 5e-4);
  EXPECT_NEAR(student_t_quantile(0.975, 30), 2.042, 5e-4);
  EXPECT_NEAR(student_t_quantile(0.975, 1e6), 1.959966, 5e-6);
  EXPECT_NEAR(student_t_quantile(0.95, 5), 2.015, 5e-4);
  EXPECT_NEAR(student_t_quantile(0.5, 3), 0.0, 1e-12);
  EXPECT_DOUBLE_EQ(student_t_quantile(0.025, 7), -student_t_quantile(0.975, 7));
}

// For df = 1 and 2 the quantile has a closed form.
TEST(Statistics, StudentQuantilesAgreeWithClosedForms) {
  const double p = 0.975;
  EXPECT_NEAR(student_t_quantile(p, 1), std::tan(std::acos(-1.0) * (p - 0.5)), 1e-11);
  const double centered = 2 * p - 1;
  EXPECT_NEAR(
      student_t_quantile(p, 2), centered * std::sqrt(2.0 / (1 - centered * centered)), 1e-12);
}

TEST(Statistics, SmallSampleIntervalIsTwoSidedStudent) {
  const Summary summary = summarize(std::vector<double>{10, 11, 12});
  EXPECT_DOUBLE_EQ(*summary.mean, 11.0);
  EXPECT_DOUBLE_EQ(*summary.sd, 1.0);
  EXPECT_EQ(summary.count, 3U);
  ASSERT_TRUE(summary.interval);
  EXPECT_NEAR(summary.interval->high - 11.0, 2.484, 5e-4);
  EXPECT_NEAR(11.0 - summary.interval->low, 2.484, 5e-4);
}

TEST(Statistics, IntervalFromStandardError) {
  const auto interval = t_interval_95(2.72, 0.306, 19);
  ASSERT_TRUE(interval);
  EXPECT_NEAR(interval->low, 2.08, 5e-3);
  EXPECT_NEAR(interval->high, 3.36, 5e-3);
}

TEST(Statistics, OneValueHasNoSpread) {
  const Summary summary = summarize(std::vector<double>{5.0});
  EXPECT_DOUBLE_EQ(*summary.mean, 5.0);
  EXPECT_FALSE(summary.sd);
  EXPECT_FALSE(summary.interval);
  EXPECT_FALSE(t_interval_95(1.0, 0.1, 0));
}

TEST(Statistics, NoValueHasNothing) {
  const Summary summary = summarize({});
  EXPECT_FALSE(summary.mean);
  EXPECT_FALSE(summary.sd);
  EXPECT_EQ(summary.count, 0U);
  EXPECT_FALSE(population_standard_deviation({}));
}

TEST(Statistics, TheTwoDeviationsDiffer) {
  const std::vector<double> values = {2, 4, 4, 4, 5, 5, 7, 9};
  EXPECT_DOUBLE_EQ(*population_standard_deviation(values), 2.0);
  EXPECT_DOUBLE_EQ(*sample_standard_deviation(values), std::sqrt(32.0 / 7.0));
}

TEST(Statistics, EqualValuesHaveSpreadZero) {
  const Summary summary = summarize(std::vector<double>{3, 3, 3});
  EXPECT_DOUBLE_EQ(*summary.sd, 0.0);
  EXPECT_DOUBLE_EQ(summary.interval->low, 3.0);
}

}  // namespace
}  // namespace joulescale
