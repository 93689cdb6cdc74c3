// SPDX-License-Identifier: Apache-2.0
// Statistics of repeated measurements: mean, the two standard deviations (told apart by name), and
// two-sided 95 % intervals by Student's t. What cannot be computed is absent, never 0 or NaN.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace joulescale {

struct Interval {
  double low = 0.0;
  double high = 0.0;
};

/// A repeated quantity as tables show it.
struct Summary {
  std::optional<double> mean;
  std::optional<double> sd;          // sample (n - 1), unless the source says otherwise
  std::optional<Interval> interval;  // 95 % interval of the mean
  std::size_t count = 0;             // values behind the mean; 0: not known (read from a file)
};

/// Arithmetic mean; absent for no values.
std::optional<double> mean(std::span<const double> values);

/// Square root of sum((x - mean)^2) / (n - 1); absent below two values.
std::optional<double> sample_standard_deviation(std::span<const double> values);

/// Square root of sum((x - mean)^2) / n (the published study calls it "rmse"); absent for no
/// values.
std::optional<double> population_standard_deviation(std::span<const double> values);

/// The t with P(T <= t) = `probability` for `degrees_of_freedom` > 0 and 0 < probability < 1.
double student_t_quantile(double probability, double degrees_of_freedom);

/// Two-sided 95 % interval: estimate -+ t(0.975, df) * standard_error. Absent for df < 1.
std::optional<Interval> t_interval_95(double estimate,
                                      double standard_error,
                                      std::size_t degrees_of_freedom);

/// Mean, sample standard deviation and the interval of the mean with n - 1 degrees of freedom.
/// Values that are not finite must not be given.
Summary summarize(std::span<const double> values);

}  // namespace joulescale
