// SPDX-License-Identifier: Apache-2.0
#include "joulescale/report/measurement_notes.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace joulescale {
namespace {

constexpr double kBytesPerGibibyte = 1024.0 * 1024.0 * 1024.0;

std::string joined(const std::set<std::string>& texts, std::string_view separator = "; ") {
  return fmt::format("{}", fmt::join(texts, separator));
}

std::string spread_note(const StudyAnalysis& analysis) {
  return analysis.sample_spread
             ? "mean \xC2\xB1 sample standard deviation (n - 1) over the runs of a configuration"
             : "mean \xC2\xB1 standard deviation as the file gives them";
}

std::string basis_note(const StudyAnalysis& analysis) {
  if (analysis.energy_basis == EnergyBasis::kMeasured) {
    return "energy: measured";
  }
  return analysis.all_estimated
             ? "energy: estimated by a model, no counter was read (energy_basis with_estimates)"
             : "energy: measured where a counter was, else estimated by a model (energy_basis "
               "with_estimates)";
}

std::string accuracy_note(const StudyReport& report) {
  std::set<std::string> accuracies;
  for (const RunRecord& run : report.runs) {
    for (const auto& [name, component] : run.energy.components) {
      const auto& accuracy = component.instrument_accuracy;
      accuracies.insert(fmt::format("{} {}", name, accuracy.empty() ? "unknown" : accuracy));
    }
    if (run.energy.components.empty() && !run.energy.instrument_accuracy.empty()) {
      accuracies.insert(run.energy.instrument_accuracy);
    }
  }
  return accuracies.empty() ? "" : "instrument accuracy: " + joined(accuracies);
}

std::string unfinished_note(const StudyReport& report) {
  const std::size_t planned = report.num_planned_runs.value_or(0);
  return report.analysis.num_complete_runs < planned
             ? fmt::format("the study is not finished: {} of {} planned runs are complete",
                           report.analysis.num_complete_runs,
                           planned)
             : "";
}

/// What makes the figures of complete runs doubtful. That nothing was measured is said elsewhere.
std::string flag_note(const StudyReport& report) {
  std::map<std::string, int> num_runs;
  for (const RunRecord& run : report.runs) {
    if (succeeded(run)) {
      for (const std::string& flag : std::set<std::string>(run.flags.begin(), run.flags.end())) {
        num_runs[flag] += flag == "no_sensor" && !run.energy.total ? 0 : 1;
      }
    }
  }
  std::string text;
  for (const auto& [flag, count] : num_runs) {
    if (count > 0) {
      text += fmt::format(
          "{}{} ({} run{})", text.empty() ? "" : ", ", flag, count, count == 1 ? "" : "s");
    }
  }
  return text.empty()
             ? ""
             : "DOUBTFUL runs are in these means, flagged " + text + ": report --table runs";
}

/// A run that used another number of devices than its study says is listed under what it used.
std::string device_note(const StudyReport& report) {
  std::size_t num_runs = 0;
  for (const RunRecord& run : report.runs) {
    if (run.study) {
      const auto axis = run.study->axes.find("devices");
      const bool differs = axis != run.study->axes.end() &&
                           axis->second != AxisValue(std::int64_t{run.devices.count});
      num_runs += differs ? 1 : 0;
    }
  }
  return num_runs == 0 ? ""
                       : fmt::format(
                             "{} run{} used another number of devices than the study asked for (a "
                             "command starts "
                             "its ranks with: joulescale launch --ranks {{devices}} -- ...)",
                             num_runs,
                             num_runs == 1 ? "" : "s");
}

std::string inputs_text(const std::map<std::string, std::string>& inputs) {
  std::set<std::string> texts;
  for (const auto& [name, value] : inputs) {
    texts.insert(fmt::format("{} = {}", name, value));
  }
  return joined(texts, ", ");
}

Cell text_or_missing(const std::string& text) { return text.empty() ? Cell() : Cell(text); }

}  // namespace

std::vector<std::string> measurement_notes(const StudyReport& report) {
  std::vector<std::string> notes = {spread_note(report.analysis)};
  if (report.runs.empty()) {
    return notes;  // a file of summaries: the analysis says what is known
  }
  std::set<std::string> includes;
  for (const MeasuredConfiguration& configuration : report.analysis.configurations) {
    if (!configuration.energy_includes.empty()) {
      includes.insert(fmt::format("{}", fmt::join(configuration.energy_includes, ", ")));
    }
  }
  std::string basis = basis_note(report.analysis);
  if (!includes.empty()) {
    basis += "; contains " + joined(includes, " or ");
  }
  notes.push_back(std::move(basis));
  for (std::string note :
       {accuracy_note(report), unfinished_note(report), flag_note(report), device_note(report)}) {
    if (!note.empty()) {
      notes.push_back(std::move(note));
    }
  }
  return notes;
}

Table component_table(const StudyReport& report) {
  struct Totals {
    std::int64_t num_runs = 0;
    Joules energy;
    std::optional<double> largest_uncertainty_percent;
  };
  using Way = std::tuple<std::string, std::string, std::string, std::string>;
  std::map<Way, Totals> ways;
  for (const RunRecord& run : report.runs) {
    if (!succeeded(run)) {
      continue;
    }
    for (const auto& [name, component] : run.energy.components) {
      const std::string overlaps = fmt::format("{}", fmt::join(component.overlaps, ", "));
      std::string detail = inputs_text(component.inputs);
      if (!overlaps.empty()) {
        detail += (detail.empty() ? "overlaps " : "; overlaps ") + overlaps;
      }
      Totals& totals = ways[Way(
          name, provenance_name(component.provenance), component.instrument_accuracy, detail)];
      ++totals.num_runs;
      totals.energy += component.energy;
      if (component.uncertainty && component.energy > Joules(0)) {
        totals.largest_uncertainty_percent =
            std::max(totals.largest_uncertainty_percent.value_or(0.0),
                     100.0 * (*component.uncertainty / component.energy));
      }
    }
  }
  Table table;
  table.name = "components";
  table.title = "Energy by component, over all complete runs: measured, integrated or estimated";
  table.columns = {{"component", "component", "", ColumnKind::kText},
                   {"provenance", "how", "", ColumnKind::kText},
                   {"runs", "runs", "", ColumnKind::kNumber},
                   {"energy_kwh", "energy (as the column 'how' says)", "kWh", ColumnKind::kNumber},
                   {"uncertainty_percent", "largest reading uncertainty", "%", ColumnKind::kNumber},
                   {"instrument_accuracy", "instrument accuracy", "", ColumnKind::kText},
                   {"inputs", "inputs of the estimate", "", ColumnKind::kText}};
  for (const auto& [way, totals] : ways) {
    const auto& [name, provenance, accuracy, inputs] = way;
    const auto& uncertainty = totals.largest_uncertainty_percent;
    table.rows.push_back({name,
                          provenance,
                          totals.num_runs,
                          Number{kilowatt_hours(totals.energy)},
                          uncertainty ? Cell(Number{*uncertainty, 2}) : Cell(),
                          accuracy.empty() ? "unknown" : accuracy,
                          text_or_missing(inputs)});
  }
  table.notes = {
      "reading uncertainty: half-width of the 95 % interval of the reading (quantum, "
      "update period, sampling, gaps); the instrument's accuracy stands beside it"};
  return table;
}

Table source_table(const StudyReport& report) {
  struct Totals {
    std::int64_t num_runs = 0;
    std::int64_t samples = 0;
    std::int64_t missed = 0;
    std::int64_t wraps = 0;
    std::int64_t resets = 0;
    std::optional<Seconds> longest_update_period;
  };
  std::map<std::tuple<std::string, std::string, std::string>, Totals> sources;
  for (const RunRecord& run : report.runs) {
    if (!succeeded(run)) {
      continue;
    }
    for (const SourceRecord& source : run.sources) {
      Totals& totals = sources[std::tuple(
          source.name, source.domain, std::string(provenance_name(source.provenance)))];
      ++totals.num_runs;
      totals.samples += static_cast<std::int64_t>(source.samples);
      totals.missed += static_cast<std::int64_t>(source.missed);
      totals.wraps += static_cast<std::int64_t>(source.wraps);
      totals.resets += static_cast<std::int64_t>(source.resets);
      if (source.update_period) {
        totals.longest_update_period =
            std::max(totals.longest_update_period.value_or(Seconds(0)), *source.update_period);
      }
    }
  }
  Table table;
  table.name = "sources";
  table.title = "Sources read, over all complete runs";
  table.columns = {{"source", "source", "", ColumnKind::kText},
                   {"component", "component", "", ColumnKind::kText},
                   {"provenance", "how", "", ColumnKind::kText},
                   {"runs", "runs", "", ColumnKind::kNumber},
                   {"update_period_s", "longest update period", "s", ColumnKind::kNumber},
                   {"samples", "samples", "", ColumnKind::kNumber},
                   {"missed", "missed", "", ColumnKind::kNumber},
                   {"wraps", "wraps", "", ColumnKind::kNumber},
                   {"resets", "resets", "", ColumnKind::kNumber}};
  for (const auto& [source, totals] : sources) {
    const auto& [name, domain, provenance] = source;
    const auto& period = totals.longest_update_period;
    table.rows.push_back({name,
                          text_or_missing(domain),
                          provenance,
                          totals.num_runs,
                          period ? Cell(Number{period->value()}) : Cell(),
                          totals.samples,
                          totals.missed,
                          totals.wraps,
                          totals.resets});
  }
  return table;
}

Table hardware_table(const StudyReport& report) {
  using Machine = std::tuple<std::string,
                             std::optional<std::string>,
                             std::optional<int>,
                             std::optional<std::string>,
                             std::optional<int>,
                             std::optional<int>,
                             std::optional<std::uint64_t>,
                             std::optional<std::string>,
                             std::string>;
  std::map<Machine, std::int64_t> num_runs;
  for (const RunRecord& run : report.runs) {
    std::set<std::string> hosts;
    for (const NodeRecord& node : run.nodes) {
      hosts.insert(node.host);
    }
    const HardwareRecord& h = run.hardware;
    ++num_runs[Machine(joined(hosts, ", "),
                       h.gpu_model,
                       h.gpus_per_node,
                       h.cpu_model,
                       h.sockets,
                       h.cores,
                       h.memory_bytes,
                       h.driver,
                       run.version)];
  }
  Table table;
  table.name = "hardware";
  table.title = "Machines and program versions";
  table.columns = {{"hosts", "hosts", "", ColumnKind::kText},
                   {"gpu_model", "GPU", "", ColumnKind::kText},
                   {"gpus_per_node", "GPUs a node", "", ColumnKind::kNumber},
                   {"cpu_model", "CPU", "", ColumnKind::kText},
                   {"sockets", "sockets", "", ColumnKind::kNumber},
                   {"cores", "cores", "", ColumnKind::kNumber},
                   {"memory_gib", "memory", "GiB", ColumnKind::kNumber},
                   {"driver", "driver", "", ColumnKind::kText},
                   {"version", "joulescale", "", ColumnKind::kText},
                   {"runs", "runs", "", ColumnKind::kNumber}};
  const auto count = [](const std::optional<int>& value) {
    return value ? Cell(std::int64_t{*value}) : Cell();
  };
  for (const auto& [machine, runs] : num_runs) {
    const auto& [hosts, gpu, gpus, cpu, sockets, cores, memory, driver, version] = machine;
    table.rows.push_back(
        {text_or_missing(hosts),
         text_or_missing(gpu.value_or("")),
         count(gpus),
         text_or_missing(cpu.value_or("")),
         count(sockets),
         count(cores),
         memory ? Cell(Number{static_cast<double>(*memory) / kBytesPerGibibyte}) : Cell(),
         text_or_missing(driver.value_or("")),
         text_or_missing(version),
         runs});
  }
  return table;
}

}  // namespace joulescale
