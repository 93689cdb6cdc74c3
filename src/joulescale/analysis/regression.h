// SPDX-License-Identifier: Apache-2.0
// Fits of energy E [kWh] over device hours h, in the three forms that the study compares. Ordinary
// least squares; the power form is fitted in log-log space. r2 = 1 - SS_res / SS_tot with SS_tot
// about the mean and both in kWh for every form, so that forms compare (it may be negative).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "joulescale/analysis/statistics.h"

namespace joulescale {

struct FitPoint {
  double device_hours = 0.0;
  double energy_kwh = 0.0;
};

enum class FitForm { kProportional, kAffine, kPower };

/// "a*h", "a*h+b", "c*h^k": the names in analysis files.
std::string_view fit_form_name(FitForm form);

struct Coefficient {
  double value = 0.0;
  std::optional<Interval> interval;  // 95 %, Student t with n - p degrees of freedom
};

struct Fit {
  FitForm form = FitForm::kProportional;
  std::optional<Coefficient> a;  // [kWh/h]
  std::optional<Coefficient> b;  // [kWh]
  std::optional<Coefficient> c;  // [kWh/h^k]
  std::optional<Coefficient> k;
  std::optional<double> r2;  // absent when all energies are equal
};

/// The energy that the fit gives for `device_hours` (> 0).
double predicted_energy_kwh(const Fit& fit, double device_hours);

/// A fit, or nothing where the form is not determined: no point (a*h), fewer than two different
/// device hours (the others), a value <= 0 (c*h^k), or a value that is not finite.
std::optional<Fit> fit_energy(FitForm form, std::span<const FitPoint> points);

/// The forms that are determined, in the order of FitForm.
std::vector<Fit> fit_all_forms(std::span<const FitPoint> points);

}  // namespace joulescale
