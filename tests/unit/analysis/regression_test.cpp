// SPDX-License-Identifier: Apache-2.0
#include "joulescale/analysis/regression.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace joulescale {
namespace {

TEST(Regression, RecoversPlantedCoefficients) {
  std::vector<FitPoint> proportional;
  std::vector<FitPoint> affine;
  std::vector<FitPoint> power;
  for (const double h : {0.5, 1.0, 3.0, 10.0, 40.0}) {
    proportional.push_back({h, 0.25 * h});
    affine.push_back({h, 0.25 * h + 1.5});
    power.push_back({h, 0.3 * std::pow(h, 0.9)});
  }
  EXPECT_NEAR(fit_energy(FitForm::kProportional, proportional)->a->value, 0.25, 1e-12);
  const auto affine_fit = fit_energy(FitForm::kAffine, affine);
  EXPECT_NEAR(affine_fit->a->value, 0.25, 1e-12);
  EXPECT_NEAR(affine_fit->b->value, 1.5, 1e-12);
  EXPECT_NEAR(*affine_fit->r2, 1.0, 1e-12);
  const auto power_fit = fit_energy(FitForm::kPower, power);
  EXPECT_NEAR(power_fit->c->value, 0.3, 1e-12);
  EXPECT_NEAR(power_fit->k->value, 0.9, 1e-12);
  EXPECT_NEAR(predicted_energy_kwh(*power_fit, 10.0), 0.3 * std::pow(10.0, 0.9), 1e-12);
}

// x = 1..5, y = 2.1, 3.9, 6.2, 7.8, 10.1, by hand: slope 1.99, intercept 0.05, SS_res 0.107, so
// s^2 = 0.107 / 3, se(slope) = sqrt(s^2 / 10), se(intercept) = sqrt(s^2 * 55 / 50), t(3)
// = 3.182446.
TEST(Regression, IntervalsOfTheAffineForm) {
  const std::vector<FitPoint> points = {{1, 2.1}, {2, 3.9}, {3, 6.2}, {4, 7.8}, {5, 10.1}};
  const auto fit = fit_energy(FitForm::kAffine, points);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->a->value, 1.99, 1e-12);
  EXPECT_NEAR(fit->b->value, 0.05, 1e-12);
  const double variance = 0.107 / 3;
  const double t = 3.182446305;
  EXPECT_NEAR(fit->a->interval->high - 1.99, t * std::sqrt(variance / 10), 1e-8);
  EXPECT_NEAR(0.05 - fit->b->interval->low, t * std::sqrt(variance * 1.1), 1e-8);
}

// Through the origin: a = sum(hE) / sum(h^2) = 110.2 / 55, df = n - 1 = 4, t(4) = 2.776445.
TEST(Regression, IntervalOfTheProportionalForm) {
  const std::vector<FitPoint> points = {{1, 2.1}, {2, 3.9}, {3, 6.2}, {4, 7.8}, {5, 10.1}};
  const auto fit = fit_energy(FitForm::kProportional, points);
  const double a = 110.2 / 55;
  double residual = 0.0;
  for (const FitPoint& point : points) {
    residual += std::pow(point.energy_kwh - a * point.device_hours, 2);
  }
  EXPECT_NEAR(fit->a->value, a, 1e-12);
  EXPECT_NEAR(fit->a->interval->high - a, 2.776445105 * std::sqrt(residual / 4 / 55), 1e-8);
}

TEST(Regression, TwoPointsGiveNoIntervalForTwoCoefficients) {
  const std::vector<FitPoint> points = {{1, 2}, {2, 3}};
  const auto fit = fit_energy(FitForm::kAffine, points);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->b->value, 1.0, 1e-12);
  EXPECT_FALSE(fit->a->interval);
  EXPECT_TRUE(fit_energy(FitForm::kProportional, points)->a->interval);
}

TEST(Regression, OnePointGivesTheProportionalFormAlone) {
  const std::vector<FitPoint> points = {{2, 3}};
  const auto fits = fit_all_forms(points);
  ASSERT_EQ(fits.size(), 1U);
  EXPECT_DOUBLE_EQ(fits[0].a->value, 1.5);
  EXPECT_FALSE(fits[0].a->interval);
  EXPECT_FALSE(fits[0].r2);
}

TEST(Regression, NoPointGivesNothing) { EXPECT_TRUE(fit_all_forms({}).empty()); }

TEST(Regression, EqualDeviceHoursDetermineNoLine) {
  const std::vector<FitPoint> points = {{0.1, 1.0}, {0.1, 1.1}, {0.1, 1.2}};
  EXPECT_FALSE(fit_energy(FitForm::kAffine, points));
  EXPECT_FALSE(fit_energy(FitForm::kPower, points));
  EXPECT_TRUE(fit_energy(FitForm::kProportional, points));
}

TEST(Regression, EqualEnergiesHaveNoR2) {
  const std::vector<FitPoint> points = {{1, 0.1}, {2, 0.1}, {3, 0.1}};
  for (const Fit& fit : fit_all_forms(points)) {
    EXPECT_FALSE(fit.r2) << fit_form_name(fit.form);
  }
}

TEST(Regression, ProportionalFormMayHaveNegativeR2) {
  const std::vector<FitPoint> points = {{1, 3}, {2, 2}, {3, 1}};
  EXPECT_LT(*fit_energy(FitForm::kProportional, points)->r2, 0.0);
}

TEST(Regression, ValuesWithoutLogarithmLeaveThePowerFormOut) {
  const std::vector<FitPoint> points = {{1, 0.0}, {2, 2}, {3, 3}};
  EXPECT_FALSE(fit_energy(FitForm::kPower, points));
  EXPECT_TRUE(fit_energy(FitForm::kAffine, points));
}

TEST(Regression, ValuesThatAreNotFiniteGiveNoFit) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(fit_all_forms(std::vector<FitPoint>{{1, 1}, {2, nan}}).empty());
}

TEST(Regression, TinyDeviceHoursAreNoDegeneracy) {
  const std::vector<FitPoint> points = {{1e-9, 2e-10}, {2e-9, 4e-10}, {3e-9, 6e-10}};
  const auto fit = fit_energy(FitForm::kAffine, points);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->a->value, 0.2, 1e-9);
}

}  // namespace
}  // namespace joulescale
