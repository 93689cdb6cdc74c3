// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "joulescale/report/study_tables.h"
#include "joulescale/report/table_parts.h"

namespace joulescale {
namespace {

/// Phases in the order of a training step; others follow by name.
constexpr std::array<std::string_view, 7> kPhaseOrder = {
    "data", "host_to_device", "forward", "backward", "optimizer", "evaluation", "checkpoint"};

std::vector<std::string> phase_names(const StudyAnalysis& analysis) {
  std::vector<std::string> names;
  for (const MeasuredConfiguration& configuration : analysis.configurations) {
    for (const auto& [name, phase] : configuration.phases) {
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        names.push_back(name);
      }
    }
  }
  const auto place = [](const std::string& name) {
    return std::find(kPhaseOrder.begin(), kPhaseOrder.end(), name) - kPhaseOrder.begin();
  };
  std::sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    return std::pair(place(a), a) < std::pair(place(b), b);
  });
  return names;
}

Summary percent_of(const Summary& share) {
  Summary percent;
  percent.count = share.count;
  if (share.mean) {
    percent.mean = 100.0 * *share.mean;
  }
  if (share.sd) {
    percent.sd = 100.0 * *share.sd;
  }
  return percent;
}

std::vector<Cell> key_cells(const MeasuredConfiguration& configuration) {
  return {std::int64_t{configuration.key.num_devices},
          count_cell(configuration.key.local_batch_size),
          count_cell(configuration.key.global_batch_size)};
}

/// For people: one row a configuration, one column a phase.
void add_wide_rows(Table& table, const StudyAnalysis& analysis) {
  const std::vector<std::string> names = phase_names(analysis);
  for (const std::string& name : names) {
    std::string title = name;
    std::replace(title.begin(), title.end(), '_', ' ');
    table.columns.push_back({name + "_s", title, "s", ColumnKind::kSummary});
  }
  for (const MeasuredConfiguration& configuration : analysis.configurations) {
    if (configuration.phases.empty()) {
      continue;
    }
    std::vector<Cell> row = key_cells(configuration);
    for (const std::string& name : names) {
      const auto phase = configuration.phases.find(name);
      row.push_back(phase == configuration.phases.end() ? Cell()
                                                        : summary_cell(phase->second.seconds));
    }
    table.rows.push_back(std::move(row));
  }
}

/// For programs: one row a configuration and phase, so that columns do not depend on the study.
void add_long_rows(Table& table, const StudyAnalysis& analysis) {
  table.columns.push_back({"phase", "phase", "", ColumnKind::kText});
  table.columns.push_back({"phase_s", "time over all ranks", "s", ColumnKind::kSummary});
  table.columns.push_back({"share_percent", "share of the phases", "%", ColumnKind::kSummary});
  for (const MeasuredConfiguration& configuration : analysis.configurations) {
    for (const auto& [name, phase] : configuration.phases) {
      std::vector<Cell> row = key_cells(configuration);
      row.insert(row.end(),
                 {name, summary_cell(phase.seconds), summary_cell(percent_of(phase.share))});
      table.rows.push_back(std::move(row));
    }
  }
}

}  // namespace

Table phase_table(const StudyReport& report, Columns which) {
  Table table;
  table.name = "phases";
  table.title = title_of("Phases", report.analysis) + ": time, summed over ranks";
  table.columns = {{"devices", device_words(report.analysis).many, "", ColumnKind::kNumber},
                   {"local_batch_size", "LBS", "", ColumnKind::kNumber},
                   {"global_batch_size", "GBS", "", ColumnKind::kNumber}};
  if (which == Columns::kAll) {
    add_long_rows(table, report.analysis);
  } else {
    add_wide_rows(table, report.analysis);
  }
  return table;
}

}  // namespace joulescale
