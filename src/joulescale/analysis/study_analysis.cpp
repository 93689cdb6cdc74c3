// SPDX-License-Identifier: Apache-2.0
#include "joulescale/analysis/study_analysis.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace joulescale {
namespace {

using Runs = std::vector<const RunRecord*>;

/// The value of the training record, else of the study's axis of that name (foreign programs).
std::optional<std::int64_t> training_or_axis(const RunRecord& run,
                                             std::optional<std::int64_t> TrainingRecord::* member,
                                             const char* axis) {
  if (run.training && (*run.training).*member) {
    return (*run.training).*member;
  }
  if (run.study) {
    const auto found = run.study->axes.find(axis);
    if (found != run.study->axes.end()) {
      if (const auto* value = std::get_if<std::int64_t>(&found->second)) {
        return *value;
      }
    }
  }
  return std::nullopt;
}

std::string workload_of(const RunRecord& run) {
  if (run.training && run.training->model) {
    return *run.training->model + (run.training->stage ? " " + *run.training->stage : "");
  }
  // Runs of a study differ in their command lines only by what the axes say.
  return run.study ? "" : fmt::format("{}", fmt::join(run.command, " "));
}

ConfigurationKey key_of(const RunRecord& run) {
  ConfigurationKey key;
  key.workload = workload_of(run);
  key.device_kind = run.devices.kind;
  key.num_devices = run.devices.count;
  key.hardware =
      (run.devices.kind == "gpu" ? run.hardware.gpu_model : run.hardware.cpu_model).value_or("");
  key.local_batch_size =
      training_or_axis(run, &TrainingRecord::local_batch_size, "local_batch_size");
  key.global_batch_size =
      training_or_axis(run, &TrainingRecord::global_batch_size, "global_batch_size");
  key.accumulation_steps =
      training_or_axis(run, &TrainingRecord::accumulation_steps, "accumulation_steps");
  if (run.training) {
    key.dataset = run.training->dataset.value_or("");
    key.epochs = run.training->epochs;
    key.samples = run.training->samples;
    if (key.samples && key.epochs.value_or(0) > 0) {
      key.dataset_samples = *key.samples / *key.epochs;
    }
  }
  return key;
}

/// Mean and spread of what `value_of` gives for each run; runs without the value do not count.
template <typename ValueOf>
Summary summarize_runs(const Runs& runs, ValueOf value_of) {
  std::vector<double> values;
  for (const RunRecord* run : runs) {
    const std::optional<double> value = value_of(*run);
    if (value && std::isfinite(*value)) {
      values.push_back(*value);
    }
  }
  return summarize(values);
}

std::optional<double> positive(double value) {
  return value > 0.0 ? std::optional(value) : std::nullopt;
}

std::optional<double> energy_kwh_of(const RunRecord& run, EnergyBasis basis) {
  const auto energy = basis_energy(run, basis);
  return energy ? std::optional(kilowatt_hours(*energy)) : std::nullopt;
}

std::optional<double> per_device_hour(std::optional<double> quantity, const RunRecord& run) {
  return quantity && run.device_hours > 0.0 ? std::optional(*quantity / run.device_hours)
                                            : std::nullopt;
}

std::optional<double> training_count(const RunRecord& run,
                                     std::optional<std::int64_t> TrainingRecord::* member) {
  return run.training && (*run.training).*member
             ? std::optional(static_cast<double>(*((*run.training).*member)))
             : std::nullopt;
}

Summary summarize_training(const Runs& runs, std::optional<double> TrainingRecord::* member) {
  return summarize_runs(runs, [member](const RunRecord& run) {
    return run.training ? (*run.training).*member : std::nullopt;
  });
}

std::map<std::string, PhaseSummary> summarize_phases(const Runs& runs) {
  struct Values {
    std::vector<double> seconds;
    std::vector<double> shares;
  };
  std::map<std::string, Values> values;
  for (const RunRecord* run : runs) {
    if (!run->training) {
      continue;
    }
    double all_phases_s = 0.0;
    for (const auto& [name, phase] : run->training->phases) {
      all_phases_s += phase.duration.value();
    }
    for (const auto& [name, phase] : run->training->phases) {
      values[name].seconds.push_back(phase.duration.value());
      if (all_phases_s > 0.0) {
        values[name].shares.push_back(phase.duration.value() / all_phases_s);
      }
    }
  }
  std::map<std::string, PhaseSummary> phases;
  for (const auto& [name, phase] : values) {
    phases[name] = {summarize(phase.seconds), summarize(phase.shares)};
  }
  return phases;
}

std::optional<std::int64_t> common_updates(const Runs& runs) {
  std::optional<std::int64_t> common;
  for (const RunRecord* run : runs) {
    const auto updates = run->training ? run->training->updates : std::nullopt;
    if (!updates || (common && *common != *updates)) {
      return std::nullopt;
    }
    common = updates;
  }
  return common;
}

void add_series(MeasuredConfiguration& configuration, const StudyRecord& study) {
  const auto add = [&](const std::string& name) {
    auto& series = configuration.series;
    if (!name.empty() && std::find(series.begin(), series.end(), name) == series.end()) {
      series.push_back(name);
    }
  };
  add(study.series);
  for (const std::string& name : study.more_series) {
    add(name);
  }
}

void set_energy(MeasuredConfiguration& configuration,
                const Runs& runs,
                EnergyBasis basis,
                const AnalysisOptions& options) {
  std::set<std::vector<std::string>> includes;
  for (const RunRecord* run : runs) {
    if (basis_energy(*run, basis)) {
      includes.insert(energy_includes(*run, basis));
    }
  }
  configuration.mixed_energy_includes = includes.size() > 1;
  if (configuration.mixed_energy_includes && !options.allow_mixed_totals) {
    return;
  }
  if (!includes.empty()) {
    configuration.energy_includes = *includes.begin();
  }
  configuration.energy_kwh =
      summarize_runs(runs, [&](const RunRecord& run) { return energy_kwh_of(run, basis); });
  configuration.energy_kwh_per_device_hour = summarize_runs(
      runs, [&](const RunRecord& run) { return per_device_hour(energy_kwh_of(run, basis), run); });
}

MeasuredConfiguration summarize_configuration(const ConfigurationKey& key,
                                              const Runs& runs,
                                              EnergyBasis basis,
                                              const AnalysisOptions& options) {
  MeasuredConfiguration configuration;
  configuration.key = key;
  configuration.repetitions = runs.size();
  for (const RunRecord* run : runs) {
    configuration.run_ids.push_back(run->id);
    if (run->study) {
      add_series(configuration, *run->study);
    }
  }
  configuration.updates = common_updates(runs);
  configuration.runtime_s =
      summarize_runs(runs, [](const RunRecord& run) { return positive(run.duration.value()); });
  configuration.device_hours =
      summarize_runs(runs, [](const RunRecord& run) { return positive(run.device_hours); });
  set_energy(configuration, runs, basis, options);
  configuration.samples_per_device_hour = summarize_runs(runs, [](const RunRecord& run) {
    return per_device_hour(training_count(run, &TrainingRecord::samples), run);
  });
  configuration.updates_per_device_hour = summarize_runs(runs, [](const RunRecord& run) {
    return per_device_hour(training_count(run, &TrainingRecord::updates), run);
  });
  configuration.top1_error_percent = summarize_training(runs, &TrainingRecord::top1_error);
  configuration.top5_error_percent = summarize_training(runs, &TrainingRecord::top5_error);
  configuration.loss = summarize_training(runs, &TrainingRecord::loss);
  configuration.phases = summarize_phases(runs);
  return configuration;
}

void note_equal_seeds(StudyAnalysis& analysis, const ConfigurationKey& key, const Runs& runs) {
  std::map<std::int64_t, std::size_t> num_runs_of_seed;
  for (const RunRecord* run : runs) {
    if (run->training && run->training->seed) {
      ++num_runs_of_seed[*run->training->seed];
    }
  }
  for (const auto& [seed, num_runs] : num_runs_of_seed) {
    if (num_runs > 1) {
      analysis.notes.push_back(fmt::format(
          "{}: {} repetitions have the same seed {}; their spread is that of the system, not of "
          "the training",
          describe(key),
          num_runs,
          seed));
    }
  }
}

void note_missing_values(StudyAnalysis& analysis, const MeasuredConfiguration& configuration) {
  const auto note = [&](const Summary& summary, std::string_view quantity) {
    if (summary.count > 0 && summary.count < configuration.repetitions) {
      analysis.notes.push_back(
          fmt::format("{}: {} is the mean of {} of {} repetitions; the others "
                      "have none",
                      describe(configuration.key),
                      quantity,
                      summary.count,
                      configuration.repetitions));
    }
  };
  note(configuration.energy_kwh, "energy");
  note(configuration.top1_error_percent, "top-1 error");
  if (configuration.mixed_energy_includes) {
    analysis.notes.push_back(
        fmt::format("{}: energy totals of the repetitions hold different components",
                    describe(configuration.key)));
  }
}

/// Complete runs, each once.
Runs complete_runs(std::span<const RunRecord> runs, StudyAnalysis& analysis) {
  Runs complete;
  std::set<std::pair<std::string, std::string>> seen;
  for (const RunRecord& run : runs) {
    if (!seen.emplace(run.id, run.started_at).second) {
      analysis.notes.push_back(fmt::format("run {} was given twice and counts once", run.id));
    } else if (succeeded(run)) {
      complete.push_back(&run);
    } else {
      ++analysis.num_failed_runs;
    }
  }
  analysis.num_complete_runs = complete.size();
  return complete;
}

std::vector<std::string> series_in_order(const Runs& runs) {
  MeasuredConfiguration all;
  for (const RunRecord* run : runs) {
    if (run->study) {
      add_series(all, *run->study);
    }
  }
  return all.series;
}

std::string study_name(const Runs& runs) {
  std::string name;
  for (const RunRecord* run : runs) {
    const std::string& other = run->study ? run->study->name : name;
    if (!name.empty() && !other.empty() && other != name) {
      return "several studies";
    }
    name = other.empty() ? name : other;
  }
  return name;
}

void fit_group(StudyAnalysis& analysis, Group& group, const AnalysisOptions& options) {
  std::vector<FitPoint> points;
  std::set<std::vector<std::string>> includes;
  for (const std::size_t index : group.configurations) {
    const MeasuredConfiguration& configuration = analysis.configurations[index];
    if (configuration.energy_kwh.mean && configuration.device_hours.mean) {
      points.push_back({*configuration.device_hours.mean, *configuration.energy_kwh.mean});
      includes.insert(configuration.energy_includes);
    }
  }
  group.num_points = points.size();
  if (includes.size() > 1) {
    std::vector<std::string> sets;
    sets.reserve(includes.size());
    for (const auto& names : includes) {
      sets.push_back(fmt::format("{{{}}}", fmt::join(names, ", ")));
    }
    analysis.notes.push_back(
        fmt::format("group {}: energies hold different components ({}) and are "
                    "{}",
                    group.name,
                    fmt::join(sets, " and "),
                    options.allow_mixed_totals ? "compared all the same" : "not fitted together"));
    if (!options.allow_mixed_totals) {
      return;
    }
  }
  group.fits = fit_all_forms(points);
}

}  // namespace

StudyAnalysis analyze_runs(std::span<const RunRecord> runs, const AnalysisOptions& options) {
  StudyAnalysis analysis;
  const Runs complete = complete_runs(runs, analysis);
  analysis.name = study_name(complete);
  analysis.energy_basis = energy_basis_of(complete);
  analysis.all_estimated = analysis.energy_basis == EnergyBasis::kWithEstimates &&
                           std::none_of(complete.begin(), complete.end(), [](const RunRecord* run) {
                             return run->energy.total.has_value();
                           });

  std::map<ConfigurationKey, Runs> by_key;
  for (const RunRecord* run : complete) {
    by_key[key_of(*run)].push_back(run);
  }
  for (const auto& [key, repetitions] : by_key) {
    analysis.configurations.push_back(
        summarize_configuration(key, repetitions, analysis.energy_basis, options));
    note_equal_seeds(analysis, key, repetitions);
    note_missing_values(analysis, analysis.configurations.back());
  }
  for (const std::string& name : series_in_order(complete)) {
    analysis.groups.push_back({name, {}, 0, {}});
  }
  add_groups_and_fits(analysis, options);
  return analysis;
}

void add_groups_and_fits(StudyAnalysis& analysis, const AnalysisOptions& options) {
  const auto num_removed =
      std::erase_if(analysis.groups, [](const Group& group) { return group.name == kAllGroup; });
  if (num_removed > 0) {
    analysis.notes.emplace_back(
        "a series is named 'all', as the group of every configuration is; it is not shown apart");
  }
  Group all;
  all.name = kAllGroup;
  for (std::size_t i = 0; i < analysis.configurations.size(); ++i) {
    all.configurations.push_back(i);
    for (Group& group : analysis.groups) {
      const auto& series = analysis.configurations[i].series;
      if (std::find(series.begin(), series.end(), group.name) != series.end()) {
        group.configurations.push_back(i);
      }
    }
  }
  analysis.groups.push_back(std::move(all));
  for (Group& group : analysis.groups) {
    fit_group(analysis, group, options);
  }
}

std::string_view energy_label(const StudyAnalysis& analysis) {
  if (analysis.energy_basis == EnergyBasis::kMeasured) {
    return "";
  }
  return analysis.all_estimated ? " (estimated)" : " (with estimates)";
}

std::string failure_reason(const RunRecord& run) {
  if (run.signal) {
    return fmt::format("ended by signal {}", *run.signal);
  }
  if (run.exit_status) {
    return fmt::format("exit status {}", *run.exit_status);
  }
  return "no exit status recorded";
}

}  // namespace joulescale
