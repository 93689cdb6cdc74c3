// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "joulescale/report/measurement_notes.h"
#include "joulescale/report/study_tables.h"
#include "joulescale/report/table_parts.h"

namespace joulescale {
namespace {

enum class Show { kAlways, kIfAny, kIfVaries };

/// A column of the configuration table with what it shows of a configuration.
struct ConfigurationColumn {
  Column column;
  Show show = Show::kAlways;
  std::function<Cell(const MeasuredConfiguration&)> cell;
};

ConfigurationColumn key_count(const char* key,
                              const char* title,
                              Show show,
                              std::optional<std::int64_t> ConfigurationKey::* member) {
  return {{key, title, "", ColumnKind::kNumber}, show, [member](const MeasuredConfiguration& c) {
            return count_cell(c.key.*member);
          }};
}

ConfigurationColumn key_text(const char* key, std::string ConfigurationKey::* member) {
  return {{key, key, "", ColumnKind::kText},
          Show::kIfVaries,
          [member](const MeasuredConfiguration& c) { return text_cell(c.key.*member); }};
}

ConfigurationColumn quantity(std::string key,
                             std::string title,
                             std::string unit,
                             Show show,
                             Summary MeasuredConfiguration::* member) {
  return {{std::move(key), std::move(title), std::move(unit), ColumnKind::kSummary},
          show,
          [member](const MeasuredConfiguration& c) { return summary_cell(c.*member); }};
}

std::vector<ConfigurationColumn> configuration_columns(const StudyAnalysis& analysis) {
  const DeviceWords words = device_words(analysis);
  const std::string label(energy_label(analysis));
  return {
      key_text("workload", &ConfigurationKey::workload),
      key_text("dataset", &ConfigurationKey::dataset),
      key_text("hardware", &ConfigurationKey::hardware),
      {{"devices", words.many, "", ColumnKind::kNumber},
       Show::kAlways,
       [](const MeasuredConfiguration& c) { return Cell(std::int64_t{c.key.num_devices}); }},
      key_count("local_batch_size", "LBS", Show::kAlways, &ConfigurationKey::local_batch_size),
      key_count("global_batch_size", "GBS", Show::kAlways, &ConfigurationKey::global_batch_size),
      key_count("accumulation_steps",
                "accumulation steps",
                Show::kIfVaries,
                &ConfigurationKey::accumulation_steps),
      key_count("epochs", "epochs", Show::kIfVaries, &ConfigurationKey::epochs),
      key_count("dataset_samples",
                "samples of the data set",
                Show::kIfVaries,
                &ConfigurationKey::dataset_samples),
      key_count("samples", "samples", Show::kIfAny, &ConfigurationKey::samples),
      {{"updates", "updates", "", ColumnKind::kNumber},
       Show::kIfAny,
       [](const MeasuredConfiguration& c) { return count_cell(c.updates); }},
      {{"repetitions", "runs", "", ColumnKind::kNumber},
       Show::kIfAny,
       [](const MeasuredConfiguration& c) {
         return c.repetitions > 0 ? Cell(static_cast<std::int64_t>(c.repetitions)) : Cell();
       }},
      quantity("runtime_s", "runtime", "s", Show::kAlways, &MeasuredConfiguration::runtime_s),
      quantity("device_hours",
               device_hours_title(analysis),
               "h",
               Show::kAlways,
               &MeasuredConfiguration::device_hours),
      quantity(energy_key(analysis, "kwh"),
               "energy" + label,
               "kWh",
               Show::kAlways,
               &MeasuredConfiguration::energy_kwh),
      quantity(energy_key(analysis, "kwh_per_device_hour"),
               fmt::format("energy{} per {} hour", label, words.one),
               "kWh/h",
               Show::kAlways,
               &MeasuredConfiguration::energy_kwh_per_device_hour),
      quantity("samples_per_device_hour",
               fmt::format("samples per {} hour", words.one),
               "1/h",
               Show::kIfAny,
               &MeasuredConfiguration::samples_per_device_hour),
      quantity("updates_per_device_hour",
               fmt::format("updates per {} hour", words.one),
               "1/h",
               Show::kIfAny,
               &MeasuredConfiguration::updates_per_device_hour),
      quantity("top1_error_percent",
               "top-1 error",
               "%",
               analysis.num_complete_runs > 0 ? Show::kAlways : Show::kIfAny,
               &MeasuredConfiguration::top1_error_percent),
  };
}

bool is_shown(const ConfigurationColumn& column, const StudyAnalysis& analysis) {
  std::set<std::string> texts;
  bool any = false;
  for (const MeasuredConfiguration& configuration : analysis.configurations) {
    const Cell cell = column.cell(configuration);
    any = any || !std::holds_alternative<std::monostate>(cell);
    texts.insert(cell_text(cell));
  }
  switch (column.show) {
    case Show::kAlways:
      return true;
    case Show::kIfAny:
      return any;
    case Show::kIfVaries:
      return texts.size() > 1;
  }
  return true;
}

std::string what_varies_not(const StudyAnalysis& analysis) {
  std::set<std::string> workloads;
  for (const MeasuredConfiguration& c : analysis.configurations) {
    std::string text = c.key.workload;
    text += !text.empty() && !c.key.dataset.empty() ? " on " : "";
    text += c.key.dataset;
    text += !text.empty() && !c.key.hardware.empty() ? "; " : "";
    text += c.key.hardware;
    workloads.insert(std::move(text));
  }
  return workloads.size() == 1 ? *workloads.begin() : "";
}

}  // namespace

Table configuration_table(const StudyReport& report, Columns which) {
  const StudyAnalysis& analysis = report.analysis;
  Table table;
  table.name = "configurations";
  table.title = title_of("Configurations", analysis);
  if (!energy_label(analysis).empty()) {
    table.title += fmt::format(": energy{}", energy_label(analysis));
  }
  const auto groups = listed_groups(analysis);
  const bool has_series = groups.size() != 1 || groups.front()->name != kAllGroup;
  if (has_series || which == Columns::kAll) {
    table.columns.push_back({"series", "series", "", ColumnKind::kText});
  }
  std::vector<ConfigurationColumn> columns = configuration_columns(analysis);
  if (which == Columns::kInformative) {
    std::erase_if(columns, [&](const auto& column) { return !is_shown(column, analysis); });
  }
  for (const ConfigurationColumn& column : columns) {
    table.columns.push_back(column.column);
  }
  for (const Group* group : groups) {
    for (const std::size_t index : group->configurations) {
      std::vector<Cell> row;
      if (table.columns.size() > columns.size()) {
        row.push_back(has_series ? text_cell(group->name) : Cell());
      }
      for (const ConfigurationColumn& column : columns) {
        row.push_back(column.cell(analysis.configurations[index]));
      }
      table.rows.push_back(std::move(row));
    }
  }
  if (const std::string common = what_varies_not(analysis); !common.empty()) {
    table.notes.push_back(common);
  }
  const auto measurement = measurement_notes(report);
  table.notes.insert(table.notes.end(), measurement.begin(), measurement.end());
  table.notes.insert(table.notes.end(), analysis.notes.begin(), analysis.notes.end());
  return table;
}

}  // namespace joulescale
