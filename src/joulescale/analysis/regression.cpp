// SPDX-License-Identifier: Apache-2.0
#include "joulescale/analysis/regression.h"

#include <algorithm>
#include <cmath>

#include <Eigen/Dense>

#include "joulescale/base/error.h"

namespace joulescale {
namespace {

struct LeastSquares {
  Eigen::VectorXd coefficients;
  Eigen::VectorXd standard_errors;  // of meaning only with degrees of freedom
  std::size_t degrees_of_freedom = 0;
};

/// Ordinary least squares of `y` over the columns of `x`. Nothing when the columns are not
/// independent to working precision.
std::optional<LeastSquares> least_squares(const Eigen::MatrixXd& x, const Eigen::VectorXd& y) {
  if (x.rows() < x.cols()) {
    return std::nullopt;
  }
  const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(x);
  if (qr.rank() < x.cols()) {
    return std::nullopt;
  }
  LeastSquares result;
  result.coefficients = qr.solve(y);
  result.degrees_of_freedom = static_cast<std::size_t>(x.rows() - x.cols());
  result.standard_errors = Eigen::VectorXd::Zero(x.cols());
  if (result.degrees_of_freedom > 0) {
    // Covariance = s^2 (X'X)^-1 with X P = Q R, so (X'X)^-1 = P R^-1 R^-T P'.
    const double variance = (y - x * result.coefficients).squaredNorm() /
                            static_cast<double>(result.degrees_of_freedom);
    const Eigen::MatrixXd r =
        qr.matrixR().topLeftCorner(x.cols(), x.cols()).triangularView<Eigen::Upper>();
    const Eigen::MatrixXd root =
        qr.colsPermutation() *
        r.triangularView<Eigen::Upper>().solve(Eigen::MatrixXd::Identity(x.cols(), x.cols()));
    result.standard_errors = root.rowwise().norm() * std::sqrt(variance);
  }
  if (!result.coefficients.allFinite()) {
    return std::nullopt;
  }
  return result;
}

Coefficient coefficient(const LeastSquares& solution, Eigen::Index index) {
  const double value = solution.coefficients(index);
  return {value,
          t_interval_95(value, solution.standard_errors(index), solution.degrees_of_freedom)};
}

std::optional<double> r_squared(const Fit& fit, std::span<const FitPoint> points) {
  double mean_kwh = 0.0;
  for (const FitPoint& point : points) {
    mean_kwh += point.energy_kwh / static_cast<double>(points.size());
  }
  double residual = 0.0;
  double total = 0.0;
  for (const FitPoint& point : points) {
    residual += std::pow(point.energy_kwh - predicted_energy_kwh(fit, point.device_hours), 2);
    total += std::pow(point.energy_kwh - mean_kwh, 2);
  }
  // Energies that are equal but for rounding have no spread to explain.
  const double rounding = mean_kwh * 1e-14;
  if (total <= static_cast<double>(points.size()) * rounding * rounding) {
    return std::nullopt;
  }
  const double r2 = 1.0 - residual / total;
  return std::isfinite(r2) ? std::optional(r2) : std::nullopt;
}

bool usable(FitForm form, std::span<const FitPoint> points) {
  const bool positive = form == FitForm::kPower;
  for (const FitPoint& point : points) {
    const double lowest = std::min(point.device_hours, point.energy_kwh);
    if (!std::isfinite(point.device_hours) || !std::isfinite(point.energy_kwh) ||
        (positive && lowest <= 0.0)) {
      return false;
    }
  }
  return !points.empty();
}

}  // namespace

std::string_view fit_form_name(FitForm form) {
  switch (form) {
    case FitForm::kProportional:
      return "a*h";
    case FitForm::kAffine:
      return "a*h+b";
    case FitForm::kPower:
      return "c*h^k";
  }
  JOULESCALE_CHECK(false);
  return {};
}

double predicted_energy_kwh(const Fit& fit, double device_hours) {
  switch (fit.form) {
    case FitForm::kProportional:
      return fit.a->value * device_hours;
    case FitForm::kAffine:
      return fit.a->value * device_hours + fit.b->value;
    case FitForm::kPower:
      return fit.c->value * std::pow(device_hours, fit.k->value);
  }
  JOULESCALE_CHECK(false);
  return 0.0;
}

std::optional<Fit> fit_energy(FitForm form, std::span<const FitPoint> points) {
  if (!usable(form, points)) {
    return std::nullopt;
  }
  const auto num_points = static_cast<Eigen::Index>(points.size());
  const bool logarithmic = form == FitForm::kPower;
  const bool intercept = form != FitForm::kProportional;
  Eigen::MatrixXd x = Eigen::MatrixXd::Ones(num_points, intercept ? 2 : 1);
  Eigen::VectorXd y(num_points);
  for (Eigen::Index i = 0; i < num_points; ++i) {
    const FitPoint& point = points[static_cast<std::size_t>(i)];
    x(i, 0) = logarithmic ? std::log(point.device_hours) : point.device_hours;
    y(i) = logarithmic ? std::log(point.energy_kwh) : point.energy_kwh;
  }
  const auto solution = least_squares(x, y);
  if (!solution) {
    return std::nullopt;
  }
  Fit fit;
  fit.form = form;
  if (logarithmic) {
    fit.k = coefficient(*solution, 0);
    Coefficient c = coefficient(*solution, 1);
    c.value = std::exp(c.value);
    if (c.interval) {
      c.interval = Interval{std::exp(c.interval->low), std::exp(c.interval->high)};
    }
    fit.c = c;
  } else {
    fit.a = coefficient(*solution, 0);
    if (intercept) {
      fit.b = coefficient(*solution, 1);
    }
  }
  fit.r2 = r_squared(fit, points);
  return fit;
}

std::vector<Fit> fit_all_forms(std::span<const FitPoint> points) {
  std::vector<Fit> fits;
  for (const FitForm form : {FitForm::kProportional, FitForm::kAffine, FitForm::kPower}) {
    if (auto fit = fit_energy(form, points)) {
      fits.push_back(*std::move(fit));
    }
  }
  return fits;
}

}  // namespace joulescale
