// SPDX-License-Identifier: Apache-2.0
// What the idle machine takes, beside what the runs took.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "joulescale/report/study_tables.h"

namespace joulescale {

Table baseline_table(const StudyReport& report) {
  Table table;
  table.name = "baselines";
  table.title = "Idle baselines, measured before the runs: subtracted from no energy";
  table.columns = {{"id", "run", "", ColumnKind::kText},
                   {"baseline_s", "length", "s", ColumnKind::kNumber},
                   {"baseline_power_w", "idle power", "W", ColumnKind::kSummary},
                   {"baseline_energy_kwh", "idle power x run's time", "kWh", ColumnKind::kSummary},
                   {"above_baseline_kwh", "run's energy above it", "kWh", ColumnKind::kSummary},
                   {"estimated_power_w", "idle power (estimated)", "W", ColumnKind::kNumber},
                   {"notes", "doubts", "", ColumnKind::kText}};
  const auto reading = [](std::optional<double> value, std::optional<double> uncertainty) {
    Summary summary;
    summary.mean = value;
    summary.sd = uncertainty;
    summary.count = 1;
    return value ? Cell(summary) : Cell();
  };
  const auto energy = [](const std::optional<Joules>& joules) {
    return joules ? std::optional(kilowatt_hours(*joules)) : std::nullopt;
  };
  const auto power = [](const std::optional<Watts>& watts) {
    return watts ? std::optional(watts->value()) : std::nullopt;
  };
  for (const RunRecord& run : report.runs) {
    if (!run.baseline) {
      continue;
    }
    const BaselineRecord& baseline = *run.baseline;
    table.rows.push_back(
        {run.id,
         baseline.duration ? Cell(Number{baseline.duration->value()}) : Cell(),
         reading(power(baseline.power), power(baseline.power_uncertainty)),
         reading(energy(baseline.energy), energy(baseline.energy_uncertainty)),
         reading(energy(baseline.above), energy(baseline.above_uncertainty)),
         baseline.estimated_power ? Cell(Number{baseline.estimated_power->value()}) : Cell(),
         baseline.notes.empty() ? Cell()
                                : Cell(fmt::format("{}", fmt::join(baseline.notes, "; ")))});
  }
  table.notes = {
      "measured and integrated only, but for the column that says otherwise; \xC2\xB1: 95 % "
      "uncertainty of the reading"};
  return table;
}

}  // namespace joulescale
