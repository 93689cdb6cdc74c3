// SPDX-License-Identifier: Apache-2.0
// The tables that list runs one by one.
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "joulescale/report/study_tables.h"
#include "joulescale/report/table_parts.h"

namespace joulescale {
namespace {

Cell number_cell(const std::optional<double>& value) {
  return value ? Cell(Number{*value}) : Cell();
}

/// The spread of a single run's energy is the uncertainty of its reading.
Cell energy_cell(const RunRecord& run, EnergyBasis basis) {
  const auto energy = basis_energy(run, basis);
  if (!energy) {
    return {};
  }
  Summary summary;
  summary.mean = kilowatt_hours(*energy);
  summary.count = 1;
  if (basis == EnergyBasis::kMeasured && run.energy.total_uncertainty) {
    summary.sd = kilowatt_hours(*run.energy.total_uncertainty);
  }
  return summary;
}

std::string series_of(const RunRecord& run) {
  std::string series = run.study ? run.study->series : "";
  if (run.study) {
    for (const std::string& more : run.study->more_series) {
      series += (series.empty() ? "" : ", ") + more;
    }
  }
  return series;
}

/// "complete", or why it is not; a training that diverged says where.
std::string status_of(const RunRecord& run) {
  std::string status = succeeded(run) ? "complete" : failure_reason(run);
  if (run.training) {
    const auto diverged = run.training->metrics.find("diverged_at_update");
    if (diverged != run.training->metrics.end()) {
      status += fmt::format("; diverged at update {:.0f}", diverged->second);
    }
  }
  return status;
}

}  // namespace

Table run_table(const StudyReport& report) {
  const StudyAnalysis& analysis = report.analysis;
  const std::string label(energy_label(analysis));
  Table table;
  table.name = "runs";
  table.title = "Runs" + (label.empty() ? "" : ": energy" + label);
  table.columns = {
      {"id", "run", "", ColumnKind::kText},
      {"series", "series", "", ColumnKind::kText},
      {"repetition", "repetition", "", ColumnKind::kNumber},
      {"devices", "devices", "", ColumnKind::kNumber},
      {"local_batch_size", "LBS", "", ColumnKind::kNumber},
      {"global_batch_size", "GBS", "", ColumnKind::kNumber},
      {"seed", "seed", "", ColumnKind::kNumber},
      {"started_at", "started (UTC)", "", ColumnKind::kText},
      {"duration_s", "duration", "s", ColumnKind::kNumber},
      {analysis.energy_basis == EnergyBasis::kMeasured ? "energy_kwh" : "energy_with_estimates_kwh",
       "energy" + label,
       "kWh",
       ColumnKind::kSummary},
      {analysis.energy_basis == EnergyBasis::kMeasured ? "mean_power_w"
                                                       : "mean_power_with_estimates_w",
       "mean power" + label,
       "W",
       ColumnKind::kNumber},
      {"top1_error_percent", "top-1 error", "%", ColumnKind::kNumber},
      {"status", "status", "", ColumnKind::kText},
      {"flags", "flags", "", ColumnKind::kText}};
  for (const RunRecord& run : report.runs) {
    const TrainingRecord training = run.training.value_or(TrainingRecord{});
    const auto energy = basis_energy(run, analysis.energy_basis);
    const bool has_power = energy && run.duration > Seconds(0);
    table.rows.push_back({run.id,
                          series_of(run),
                          run.study ? Cell(std::int64_t{run.study->repetition}) : Cell(),
                          std::int64_t{run.devices.count},
                          count_cell(training.local_batch_size),
                          count_cell(training.global_batch_size),
                          count_cell(training.seed),
                          run.started_at,
                          Number{run.duration.value()},
                          energy_cell(run, analysis.energy_basis),
                          has_power ? Cell(Number{(*energy / run.duration).value()}) : Cell(),
                          number_cell(training.top1_error),
                          status_of(run),
                          fmt::format("{}", fmt::join(run.flags, ", "))});
  }
  table.notes = {
      "\xC2\xB1 of a run's energy: 95 % uncertainty of the reading; mean power: that "
      "energy by the duration"};
  return table;
}

Table flag_table(const StudyReport& report) {
  std::map<std::string, std::int64_t> num_runs;
  for (const RunRecord& run : report.runs) {
    for (const std::string& flag : std::set<std::string>(run.flags.begin(), run.flags.end())) {
      ++num_runs[flag];
    }
  }
  Table table;
  table.name = "flags";
  table.title = "Flags of the runs";
  table.columns = {{"flag", "flag", "", ColumnKind::kText},
                   {"runs", "runs", "", ColumnKind::kNumber},
                   {"meaning", "meaning", "", ColumnKind::kText}};
  for (const auto& [flag, count] : num_runs) {
    table.rows.push_back({flag, count, std::string(flag_meaning(flag))});
  }
  return table;
}

Table failed_run_table(const StudyReport& report) {
  Table table;
  table.name = "failed";
  table.title = "Runs that failed: listed, not averaged";
  table.columns = {{"id", "run", "", ColumnKind::kText},
                   {"series", "series", "", ColumnKind::kText},
                   {"devices", "devices", "", ColumnKind::kNumber},
                   {"started_at", "started (UTC)", "", ColumnKind::kText},
                   {"duration_s", "duration", "s", ColumnKind::kNumber},
                   {"status", "status", "", ColumnKind::kText}};
  for (const RunRecord& run : report.runs) {
    if (!succeeded(run)) {
      table.rows.push_back({run.id,
                            series_of(run),
                            std::int64_t{run.devices.count},
                            run.started_at,
                            Number{run.duration.value()},
                            failure_reason(run)});
    }
  }
  return table;
}

}  // namespace joulescale
