// SPDX-License-Identifier: Apache-2.0
#include "joulescale/report/study_tables.h"

#include <algorithm>
#include <functional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "joulescale/analysis/scaling.h"
#include "joulescale/report/measurement_notes.h"

namespace joulescale {
namespace {

/// What devices are called: a kind's own word where all configurations have that kind.
struct DeviceWords {
  std::string one = "device";
  std::string many = "devices";
};

DeviceWords device_words(const StudyAnalysis& analysis) {
  std::set<std::string> kinds;
  for (const Configuration& configuration : analysis.configurations) {
    kinds.insert(configuration.key.device_kind);
  }
  if (kinds == std::set<std::string>{"gpu"}) {
    return {"GPU", "GPUs"};
  }
  if (kinds == std::set<std::string>{"cpu_rank"}) {
    return {"CPU-rank", "CPU ranks"};
  }
  return {};
}

enum class Show { kAlways, kIfAny, kIfVaries };

/// A column of the configuration table with what it shows of a configuration.
struct ConfigurationColumn {
  Column column;
  Show show = Show::kAlways;
  std::function<Cell(const Configuration&)> cell;
};

template <typename T>
Cell optional_cell(const std::optional<T>& value) {
  return value ? Cell(*value) : Cell();
}

Cell count_cell(const std::optional<std::int64_t>& value) { return optional_cell(value); }

Cell summary_cell(const Summary& summary) { return summary.mean ? Cell(summary) : Cell(); }

Cell text_cell(const std::string& text) { return text.empty() ? Cell() : Cell(text); }

ConfigurationColumn key_count(const char* key,
                              const char* title,
                              Show show,
                              std::optional<std::int64_t> ConfigurationKey::* member) {
  return {{key, title, "", ColumnKind::kNumber}, show, [member](const Configuration& c) {
            return count_cell(c.key.*member);
          }};
}

ConfigurationColumn key_text(const char* key, std::string ConfigurationKey::* member) {
  return {{key, key, "", ColumnKind::kText}, Show::kIfVaries, [member](const Configuration& c) {
            return text_cell(c.key.*member);
          }};
}

ConfigurationColumn quantity(std::string key,
                             std::string title,
                             std::string unit,
                             Show show,
                             Summary Configuration::* member) {
  return {{std::move(key), std::move(title), std::move(unit), ColumnKind::kSummary},
          show,
          [member](const Configuration& c) { return summary_cell(c.*member); }};
}

std::string energy_key(const StudyAnalysis& analysis, std::string_view suffix) {
  return fmt::format("energy{}_{}",
                     analysis.energy_basis == EnergyBasis::kMeasured ? "" : "_with_estimates",
                     suffix);
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
       [](const Configuration& c) { return Cell(std::int64_t{c.key.num_devices}); }},
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
       [](const Configuration& c) { return count_cell(c.updates); }},
      {{"repetitions", "runs", "", ColumnKind::kNumber},
       Show::kIfAny,
       [](const Configuration& c) {
         return c.repetitions > 0 ? Cell(static_cast<std::int64_t>(c.repetitions)) : Cell();
       }},
      quantity("runtime_s", "runtime", "s", Show::kAlways, &Configuration::runtime_s),
      quantity("device_hours",
               device_hours_title(analysis),
               "h",
               Show::kAlways,
               &Configuration::device_hours),
      quantity(energy_key(analysis, "kwh"),
               "energy" + label,
               "kWh",
               Show::kAlways,
               &Configuration::energy_kwh),
      quantity(energy_key(analysis, "kwh_per_device_hour"),
               fmt::format("energy{} per {} hour", label, words.one),
               "kWh/h",
               Show::kAlways,
               &Configuration::energy_kwh_per_device_hour),
      quantity("samples_per_device_hour",
               fmt::format("samples per {} hour", words.one),
               "1/h",
               Show::kIfAny,
               &Configuration::samples_per_device_hour),
      quantity("updates_per_device_hour",
               fmt::format("updates per {} hour", words.one),
               "1/h",
               Show::kIfAny,
               &Configuration::updates_per_device_hour),
      quantity("top1_error_percent",
               "top-1 error",
               "%",
               analysis.num_complete_runs > 0 ? Show::kAlways : Show::kIfAny,
               &Configuration::top1_error_percent),
  };
}

bool is_shown(const ConfigurationColumn& column, const StudyAnalysis& analysis) {
  std::set<std::string> texts;
  bool any = false;
  for (const Configuration& configuration : analysis.configurations) {
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

/// The groups that a table lists: the series, or all configurations where there is no series.
std::vector<const Group*> listed_groups(const StudyAnalysis& analysis) {
  std::vector<const Group*> groups;
  for (const Group& group : analysis.groups) {
    const bool has_series = analysis.groups.size() > 1;
    if (!has_series || group.name != kAllGroup) {
      groups.push_back(&group);
    }
  }
  // Configurations of runs outside every series stand in no other group.
  const auto& configurations = analysis.configurations;
  const bool some_outside = std::any_of(configurations.begin(),
                                        configurations.end(),
                                        [](const Configuration& c) { return c.series.empty(); });
  if (groups.size() < analysis.groups.size() && some_outside) {
    return {&analysis.groups.back()};
  }
  return groups;
}

std::string title_of(std::string_view what, const StudyAnalysis& analysis) {
  return analysis.name.empty() ? std::string(what) : fmt::format("{} of {}", what, analysis.name);
}

std::string what_varies_not(const StudyAnalysis& analysis) {
  std::set<std::string> workloads;
  for (const Configuration& c : analysis.configurations) {
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

std::string device_hours_title(const StudyAnalysis& analysis) {
  return device_words(analysis).one + " hours";
}

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

Table fit_table(const StudyReport& report) {
  const StudyAnalysis& analysis = report.analysis;
  Table table;
  table.name = "fits";
  table.title = fmt::format(
      "Fits of energy{} E over {} h", energy_label(analysis), device_hours_title(analysis));
  table.columns = {{"group", "group", "", ColumnKind::kText},
                   {"points", "points", "", ColumnKind::kNumber},
                   {"form", "E =", "", ColumnKind::kText},
                   {"a_kwh_per_h", "a", "kWh/h", ColumnKind::kCoefficient},
                   {"b_kwh", "b", "kWh", ColumnKind::kCoefficient},
                   {"c_kwh", "c", "kWh/h^k", ColumnKind::kCoefficient},
                   {"k", "k", "", ColumnKind::kCoefficient},
                   {"r2", "R\xC2\xB2", "", ColumnKind::kNumber}};
  for (const Group& group : analysis.groups) {
    for (const Fit& fit : group.fits) {
      constexpr int kR2Digits = 6;
      table.rows.push_back({group.name,
                            static_cast<std::int64_t>(group.num_points),
                            std::string(fit_form_name(fit.form)),
                            optional_cell(fit.a),
                            optional_cell(fit.b),
                            optional_cell(fit.c),
                            optional_cell(fit.k),
                            fit.r2 ? Cell(Number{*fit.r2, kR2Digits}) : Cell()});
    }
    if (group.fits.empty()) {
      std::vector<Cell> row(table.columns.size());
      row[0] = group.name;
      row[1] = static_cast<std::int64_t>(group.num_points);
      table.rows.push_back(std::move(row));
    }
  }
  table.notes = {
      "one point a configuration: means over its repetitions; brackets: 95 % interval (Student t)",
      "R\xC2\xB2 = 1 - SS_res / SS_tot about the mean, in kWh for every form"};
  return table;
}

Table scaling_table(const StudyReport& report) {
  const StudyAnalysis& analysis = report.analysis;
  const DeviceWords words = device_words(analysis);
  Table table;
  table.name = "scaling";
  table.title = fmt::format("Scaling within each series: speed-up and energy{} per sample",
                            energy_label(analysis));
  table.columns = {{"series", "series", "", ColumnKind::kText},
                   {"devices", words.many, "", ColumnKind::kNumber},
                   {"local_batch_size", "LBS", "", ColumnKind::kNumber},
                   {"global_batch_size", "GBS", "", ColumnKind::kNumber},
                   {"speedup", "speed-up", "", ColumnKind::kNumber},
                   {"efficiency", "parallel efficiency", "", ColumnKind::kNumber},
                   {energy_key(analysis, "per_sample_ratio"),
                    fmt::format("energy{} per sample against reference", energy_label(analysis)),
                    "",
                    ColumnKind::kNumber}};
  const auto ratio_cell = [](const std::optional<double>& value) {
    return value ? Cell(Number{*value}) : Cell();
  };
  for (const Group* group : listed_groups(analysis)) {
    for (const ScalingPoint& point : scaling_of(analysis, *group)) {
      const ConfigurationKey& key = analysis.configurations[point.configuration].key;
      table.rows.push_back({group->name,
                            std::int64_t{key.num_devices},
                            count_cell(key.local_batch_size),
                            count_cell(key.global_batch_size),
                            ratio_cell(point.speedup),
                            ratio_cell(point.efficiency),
                            ratio_cell(point.energy_ratio)});
    }
  }
  table.notes = {
      "speed-up: ratio of samples per second to the configuration with the fewest devices of the "
      "series; parallel efficiency: speed-up by the ratio of devices"};
  return table;
}

Table phase_table(const StudyReport& report) {
  const StudyAnalysis& analysis = report.analysis;
  Table table;
  table.name = "phases";
  table.title = title_of("Phases", analysis);
  table.columns = {{"devices", device_words(analysis).many, "", ColumnKind::kNumber},
                   {"local_batch_size", "LBS", "", ColumnKind::kNumber},
                   {"global_batch_size", "GBS", "", ColumnKind::kNumber},
                   {"phase", "phase", "", ColumnKind::kText},
                   {"phase_s", "time over all ranks", "s", ColumnKind::kSummary},
                   {"share_percent", "share of the phases", "%", ColumnKind::kSummary}};
  for (const Configuration& configuration : analysis.configurations) {
    for (const auto& [name, phase] : configuration.phases) {
      Summary percent = phase.share;
      for (std::optional<double>* value : {&percent.mean, &percent.sd}) {
        if (*value) {
          **value *= 100.0;
        }
      }
      percent.interval.reset();
      table.rows.push_back({std::int64_t{configuration.key.num_devices},
                            count_cell(configuration.key.local_batch_size),
                            count_cell(configuration.key.global_batch_size),
                            name,
                            summary_cell(phase.seconds),
                            summary_cell(percent)});
    }
  }
  return table;
}

}  // namespace joulescale
