// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include <fmt/format.h>

#include "joulescale/report/number_format.h"
#include "joulescale/report/study_tables.h"
#include "joulescale/report/table_parts.h"

namespace joulescale {
namespace {

/// "0.284996 h + 0.981469".
std::string fit_text(const Fit& fit) {
  switch (fit.form) {
    case FitForm::kProportional:
      return format_coefficient(fit.a->value) + " h";
    case FitForm::kAffine:
      return fmt::format("{} h {} {}",
                         format_coefficient(fit.a->value),
                         fit.b->value < 0.0 ? "-" : "+",
                         format_coefficient(std::abs(fit.b->value)));
    case FitForm::kPower:
      return fmt::format(
          "{} h^{}", format_coefficient(fit.c->value), format_coefficient(fit.k->value));
  }
  return "";
}

/// "a [0.2750, 0.2950], b [0.4184, 1.544]"; empty where no interval is known.
std::string intervals_text(const Fit& fit) {
  std::string text;
  const auto add = [&](const char* name, const std::optional<Coefficient>& coefficient) {
    if (coefficient && coefficient->interval) {
      text += fmt::format("{}{} [{}, {}]",
                          text.empty() ? "" : ", ",
                          name,
                          format_rounded(coefficient->interval->low),
                          format_rounded(coefficient->interval->high));
    }
  };
  add("a", fit.a);
  add("b", fit.b);
  add("c", fit.c);
  add("k", fit.k);
  return text;
}

bool any_through_its_points(const StudyAnalysis& analysis) {
  for (const Group& group : analysis.groups) {
    for (const Fit& fit : group.fits) {
      const std::size_t num_coefficients = fit.form == FitForm::kProportional ? 1 : 2;
      if (num_coefficients == group.num_points && group.num_points > 1) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

Table fit_table(const StudyReport& report, Columns which) {
  const StudyAnalysis& analysis = report.analysis;
  const bool for_people = which == Columns::kInformative;
  Table table;
  table.name = "fits";
  table.title = fmt::format(
      "Fits of energy{} E [kWh] over {} h", energy_label(analysis), device_hours_title(analysis));
  table.columns = {{"group", "group", "", ColumnKind::kText},
                   {"points", "points", "", ColumnKind::kNumber}};
  if (for_people) {
    table.columns.push_back(
        {"fit", fmt::format("E{}", energy_label(analysis)), "kWh", ColumnKind::kText});
    table.columns.push_back({"intervals", "95 % intervals", "", ColumnKind::kText});
  } else {
    table.columns.push_back({"form", "form", "", ColumnKind::kText});
    table.columns.push_back({"a_kwh_per_h", "a", "kWh/h", ColumnKind::kCoefficient});
    table.columns.push_back({"b_kwh", "b", "kWh", ColumnKind::kCoefficient});
    table.columns.push_back({"c_kwh_per_h_to_k", "c", "kWh/h^k", ColumnKind::kCoefficient});
    table.columns.push_back({"k", "k", "", ColumnKind::kCoefficient});
  }
  table.columns.push_back({"r2", "R\xC2\xB2", "", ColumnKind::kNumber});
  for (const Group& group : analysis.groups) {
    for (const Fit& fit : group.fits) {
      table.rows.push_back({group.name, static_cast<std::int64_t>(group.num_points)});
      auto& row = table.rows.back();
      if (for_people) {
        row.insert(row.end(), {fit_text(fit), intervals_text(fit)});
      } else {
        row.insert(row.end(),
                   {std::string(fit_form_name(fit.form)),
                    optional_cell(fit.a),
                    optional_cell(fit.b),
                    optional_cell(fit.c),
                    optional_cell(fit.k)});
      }
      constexpr int kR2Digits = 6;
      row.push_back(fit.r2 ? Cell(Number{*fit.r2, kR2Digits}) : Cell());
    }
    if (group.fits.empty()) {
      std::vector<Cell> row(table.columns.size());
      row[0] = group.name;
      row[1] = static_cast<std::int64_t>(group.num_points);
      table.rows.push_back(std::move(row));
    }
  }
  table.notes = {
      "a [kWh/h], b [kWh], c [kWh/h^k]; one point a configuration: means over its runs; intervals "
      "by "
      "Student's t",
      "R\xC2\xB2 = 1 - SS_res / SS_tot about the mean, in kWh for every form"};
  if (any_through_its_points(analysis)) {
    table.notes.emplace_back(
        "a form with as many coefficients as there are points goes through them: no interval, and "
        "its R\xC2\xB2 of 1 tells nothing");
  }
  return table;
}

}  // namespace joulescale
