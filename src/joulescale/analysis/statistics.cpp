// SPDX-License-Identifier: Apache-2.0
#include "joulescale/analysis/statistics.h"

#include <cmath>

#include "joulescale/base/error.h"

namespace joulescale {
namespace {

std::optional<double> root_mean_square_deviation(std::span<const double> values, double divisor) {
  const auto center = mean(values);
  if (!center || divisor < 1.0) {
    return std::nullopt;
  }
  double sum = 0.0;
  for (const double value : values) {
    sum += (value - *center) * (value - *center);
  }
  return std::sqrt(sum / divisor);
}

/// Continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method.
double beta_continued_fraction(double x, double a, double b) {
  constexpr int kMaxTerms = 10'000;
  constexpr double kTiny = 1e-300;
  constexpr double kPrecision = 1e-15;
  const auto away_from_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };

  double c = 1.0;
  double d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
  double fraction = d;
  for (int m = 1; m <= kMaxTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
    d = 1.0 / away_from_zero(1.0 + even * d);
    c = away_from_zero(1.0 + even / c);
    fraction *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
    d = 1.0 / away_from_zero(1.0 + odd * d);
    c = away_from_zero(1.0 + odd / c);
    fraction *= d * c;
    if (std::abs(d * c - 1.0) < kPrecision) {
      break;
    }
  }
  return fraction;
}

/// log Gamma without lgamma()'s global sign variable: arguments here are positive.
double log_gamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

/// Regularised incomplete beta function I_x(a, b).
double incomplete_beta(double x, double a, double b) {
  if (x <= 0.0) {
    return 0.0;
  }
  if (x >= 1.0) {
    return 1.0;
  }
  const double front = std::exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * std::log(x) +
                                b * std::log1p(-x));
  // The fraction converges quickly below the mean; above it the symmetric one does.
  if (x < (a + 1.0) / (a + b + 2.0)) {
    return front * beta_continued_fraction(x, a, b) / a;
  }
  return 1.0 - front * beta_continued_fraction(1.0 - x, b, a) / b;
}

/// P(T > t) for t >= 0.
double student_t_upper_tail(double t, double df) {
  return 0.5 * incomplete_beta(df / (df + t * t), df / 2.0, 0.5);
}

}  // namespace

std::optional<double> mean(std::span<const double> values) {
  if (values.empty()) {
    return std::nullopt;
  }
  double sum = 0.0;
  for (const double value : values) {
    sum += value;
  }
  return sum / static_cast<double>(values.size());
}

std::optional<double> sample_standard_deviation(std::span<const double> values) {
  return root_mean_square_deviation(values, static_cast<double>(values.size()) - 1.0);
}

std::optional<double> population_standard_deviation(std::span<const double> values) {
  return root_mean_square_deviation(values, static_cast<double>(values.size()));
}

double student_t_quantile(double probability, double degrees_of_freedom) {
  JOULESCALE_CHECK(probability > 0.0);
  JOULESCALE_CHECK(probability < 1.0);
  JOULESCALE_CHECK(degrees_of_freedom > 0.0);
  if (probability < 0.5) {
    return -student_t_quantile(1.0 - probability, degrees_of_freedom);
  }
  const double tail = 1.0 - probability;
  double low = 0.0;
  double high = 1.0;
  while (student_t_upper_tail(high, degrees_of_freedom) > tail) {
    high *= 2.0;
  }
  constexpr int kBisections = 200;  // more than the bits of a double
  for (int i = 0; i < kBisections; ++i) {
    const double middle = 0.5 * (low + high);
    (student_t_upper_tail(middle, degrees_of_freedom) > tail ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

std::optional<Interval> t_interval_95(double estimate,
                                      double standard_error,
                                      std::size_t degrees_of_freedom) {
  if (degrees_of_freedom < 1 || !std::isfinite(standard_error)) {
    return std::nullopt;
  }
  const double half_width =
      student_t_quantile(0.975, static_cast<double>(degrees_of_freedom)) * standard_error;
  return Interval{estimate - half_width, estimate + half_width};
}

Summary summarize(std::span<const double> values) {
  Summary summary;
  summary.count = values.size();
  summary.mean = mean(values);
  summary.sd = sample_standard_deviation(values);
  if (summary.sd) {
    const auto n = static_cast<double>(values.size());
    summary.interval = t_interval_95(*summary.mean, *summary.sd / std::sqrt(n), values.size() - 1);
  }
  return summary;
}

}  // namespace joulescale
