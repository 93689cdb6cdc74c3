// SPDX-License-Identifier: Apache-2.0
#include "joulescale/report/number_format.h"

#include <limits>

#include <gtest/gtest.h>

namespace joulescale {
namespace {

Summary summary(double mean, double sd) { return {mean, sd, std::nullopt, 2}; }

TEST(NumberFormat, SignificantDigits) {
  EXPECT_EQ(format_rounded(12345.6), "12346");
  EXPECT_EQ(format_rounded(0.0123456), "0.01235");
  EXPECT_EQ(format_rounded(9.99996), "10.00");
  EXPECT_EQ(format_rounded(0.0), "0");
  EXPECT_EQ(format_rounded(-1.5), "-1.500");
  EXPECT_EQ(format_rounded(1.23456e-7), "1.235e-07");
  EXPECT_EQ(format_rounded(std::numeric_limits<double>::quiet_NaN()), "-");
  EXPECT_EQ(format_rounded(std::numeric_limits<double>::infinity()), "-");
}

TEST(NumberFormat, SpreadSetsTheDecimals) {
  EXPECT_EQ(format_mean_and_sd(summary(12.3456, 0.0512)), "12.346 \xC2\xB1 0.051");
  EXPECT_EQ(format_mean_and_sd(summary(1188119.0, 16803.0)), "1188000 \xC2\xB1 17000");
  EXPECT_EQ(format_mean_and_sd(summary(11.0, 0.0996)), "11.00 \xC2\xB1 0.10");
  EXPECT_EQ(format_mean_and_sd(summary(0.09, 0.09)), "0.090 \xC2\xB1 0.090");
  EXPECT_EQ(format_mean_and_sd(summary(2.5e-6, 1.2e-7)), "(2.50 \xC2\xB1 0.12)e-6");
}

TEST(NumberFormat, NoSpreadAndNoValue) {
  EXPECT_EQ(format_mean_and_sd({}), "-");
  EXPECT_EQ(format_mean_and_sd({5.0, std::nullopt, std::nullopt, 1}), "5.000");
  EXPECT_EQ(format_mean_and_sd(summary(0.025, 0.0)), "0.02500 \xC2\xB1 0");
  EXPECT_EQ(format_mean_and_sd(summary(0.025, 1e-17)), "0.02500 \xC2\xB1 0");
}

TEST(NumberFormat, Coefficients) {
  EXPECT_EQ(format_coefficient(0.29733), "0.297330");
  EXPECT_EQ(format_coefficient(-0.483003), "-0.483003");
  EXPECT_EQ(format_coefficient(1.2345678e-5), "1.23457e-05");
  EXPECT_EQ(format_coefficient(0.0), "0.000000");
}

}  // namespace
}  // namespace joulescale
