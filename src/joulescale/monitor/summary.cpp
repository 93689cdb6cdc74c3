// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/summary.h"

#include <string.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace joulescale {
namespace {

std::string plus_minus(const std::optional<Joules>& uncertainty) {
  return uncertainty ? fmt::format(" +- {:.4g} J", uncertainty->value()) : "";
}
std::string plus_minus(const std::optional<Watts>& uncertainty) {
  return uncertainty ? fmt::format(" +- {:.4g} W", uncertainty->value()) : "";
}

std::string components_table(const EnergyRecord& energy) {
  std::string text;
  const auto out = std::back_inserter(text);
  for (const auto& [name, component] : energy.components) {
    fmt::format_to(out,
                   "  {:<11} {:>12.3f} J{}  {}",
                   name,
                   component.energy.value(),
                   plus_minus(component.uncertainty),
                   provenance_name(component.provenance));
    if (component.integrated) {
      fmt::format_to(out, ", {:.3f} J from power samples", component.integrated->value());
      if (component.integrated->value() > 0.0) {
        fmt::format_to(out, " (ratio {:.3f})", component.energy / *component.integrated);
      }
    }
    if (!component.overlaps.empty()) {
      fmt::format_to(out, ", not added (overlaps {})", fmt::join(component.overlaps, ", "));
    }
    text += '\n';
    for (const auto& [input, value] : component.inputs) {
      fmt::format_to(out, "      {}: {}\n", input, value);
    }
  }
  return text;
}

/// "measured", "integrated" or both: how the parts of the total are known.
std::string provenance_of_total(const EnergyRecord& energy) {
  std::set<std::string_view> kinds;
  for (const std::string& name : energy.total_includes) {
    if (const auto part = energy.components.find(name); part != energy.components.end()) {
      kinds.insert(provenance_name(part->second.provenance));
    }
  }
  // In this order: the alphabet's is the other way round.
  return fmt::format("{}", fmt::join(kinds.rbegin(), kinds.rend(), " and "));
}

std::string totals(const EnergyRecord& energy) {
  std::string text;
  const auto out = std::back_inserter(text);
  if (energy.total) {
    fmt::format_to(out,
                   "  total       {:>12.3f} J{}  {} ({})\n",
                   energy.total->value(),
                   plus_minus(energy.total_uncertainty),
                   provenance_of_total(energy),
                   fmt::join(energy.total_includes, " + "));
    if (!energy.instrument_accuracy.empty()) {
      fmt::format_to(out, "      instrument accuracy: {}\n", energy.instrument_accuracy);
    }
  }
  if (energy.estimated && energy.total_with_estimates) {
    fmt::format_to(out,
                   "  total+est.  {:>12.3f} J  {}\n",
                   energy.total_with_estimates->value(),
                   energy.total
                       ? fmt::format("with ESTIMATES of {:.3f} J", energy.estimated->value())
                       : "ESTIMATED as a whole");
  }
  if (!energy.total && !energy.estimated) {
    text += "  energy not known: no source gave a value\n";
  }
  return text;
}

std::vector<std::string> estimated_components(const BaselineRecord& baseline) {
  std::vector<std::string> names;
  for (const auto& [name, power] : baseline.components) {
    if (power.provenance == Provenance::kEstimated) {
      names.push_back(name);
    }
  }
  return names;
}

std::string baseline_lines(const BaselineRecord& baseline) {
  std::string text;
  const auto out = std::back_inserter(text);
  const std::string when = baseline.duration ? fmt::format("in the {:.4g} s before the start",
                                                           baseline.duration->value())
                                             : "before the start";
  if (baseline.power && baseline.energy) {
    fmt::format_to(out,
                   "  baseline    {:>12.3f} W +- {:.4g} W  {}; {:.3f} J in the run's time\n",
                   baseline.power->value(),
                   baseline.power_uncertainty.value_or(Watts(0.0)).value(),
                   when,
                   baseline.energy->value());
  }
  if (baseline.above) {
    fmt::format_to(out,
                   "  above it    {:>12.3f} J{}\n",
                   baseline.above->value(),
                   plus_minus(baseline.above_uncertainty));
  }
  if (baseline.estimated_power && baseline.estimated) {
    fmt::format_to(out,
                   "  baseline    {:>12.3f} W  ESTIMATED ({}), {}; {:.3f} J in the run's time\n",
                   baseline.estimated_power->value(),
                   fmt::join(estimated_components(baseline), " + "),
                   when,
                   baseline.estimated->value());
  }
  for (const std::string& note : baseline.notes) {
    fmt::format_to(out, "      baseline: {}\n", note);
  }
  return text;
}

/// Mean and highest power, and energy per device hour: of what was measured and integrated.
std::string rates(const RunRecord& run) {
  std::string text;
  const auto out = std::back_inserter(text);
  const std::string provenance = provenance_of_total(run.energy);
  if (run.power.mean) {
    const auto doubt = run.energy.total_uncertainty && run.duration.value() > 0.0
                           ? std::optional(*run.energy.total_uncertainty / run.duration)
                           : std::nullopt;
    fmt::format_to(out,
                   "  mean power  {:>12.3f} W{}  {}\n",
                   run.power.mean->value(),
                   plus_minus(doubt),
                   provenance);
  }
  if (run.power.peak && run.power.peak_window) {
    fmt::format_to(out,
                   "  peak power  {:>12.3f} W{}  highest mean over {:.3g} s\n",
                   run.power.peak->value(),
                   plus_minus(run.power.peak_uncertainty),
                   run.power.peak_window->value());
  }
  return text;
}

/// The study's "power draw per GPU hour": the basis with estimates is named where it is used.
std::string device_hours_line(const RunRecord& run) {
  const std::string device = run.devices.kind == "gpu" ? "GPU" : "CPU-rank";
  const std::string title = fmt::format("{} hours", device);
  std::string text = fmt::format("  {:<11} {:>12.4g} h", title, run.device_hours);
  const auto energy = run.energy.total ? run.energy.total : run.energy.total_with_estimates;
  if (energy && run.device_hours > 0.0) {
    text += fmt::format("  {:.4g} kWh a {} hour, {}",
                        kilowatt_hours(*energy) / run.device_hours,
                        device,
                        run.energy.total ? provenance_of_total(run.energy) : "ESTIMATED");
  }
  return text + '\n';
}

/// Metrics of one kind, of all devices, ranks and nodes together.
struct MetricKind {
  double sum_of_means = 0.0;
  std::size_t num_means = 0;
  double highest = 0.0;
  double difference = 0.0;
  std::size_t num_counters = 0;
};

MetricKind metric_kind(const std::vector<MetricRecord>& metrics,
                       std::string_view prefix,
                       std::string_view suffix) {
  MetricKind kind;
  for (const MetricRecord& metric : metrics) {
    if (!metric.name.starts_with(prefix) || !metric.name.ends_with(suffix)) {
      continue;
    }
    if (metric.mean && metric.maximum) {
      kind.sum_of_means += *metric.mean;
      kind.highest = std::max(kind.highest, *metric.maximum);
      ++kind.num_means;
    }
    if (metric.difference) {
      kind.difference += *metric.difference;
      ++kind.num_counters;
    }
  }
  return kind;
}

/// What held clocks back for more than a hundredth of the time, on average over the GPUs.
std::string throttle_text(const std::vector<MetricRecord>& metrics) {
  std::map<std::string, double> shares;
  double num_gpus = 0.0;
  for (const MetricRecord& metric : metrics) {
    num_gpus += metric.bit_shares.empty() ? 0.0 : 1.0;
    for (const auto& [bit, share] : metric.bit_shares) {
      shares[bit] += share;
    }
  }
  std::string text;
  for (const auto& [bit, share] : shares) {
    if (bit != "gpu_idle" && share > 0.01 * num_gpus) {
      text += fmt::format(", {} {:.0f} % of the time", bit, 100.0 * share / num_gpus);
    }
  }
  return text;
}

std::string bytes_text(double bytes) {
  constexpr double kMiB = 1024.0 * 1024.0;
  constexpr double kGiB = 1024.0 * kMiB;
  return bytes < kGiB ? fmt::format("{:.1f} MiB", bytes / kMiB)
                      : fmt::format("{:.2f} GiB", bytes / kGiB);
}

/// What the GPUs and CPUs did, in a line each; nothing where nothing is known.
std::string metrics_lines(const std::vector<MetricRecord>& metrics, Seconds duration) {
  std::string gpu;
  if (const auto use = metric_kind(metrics, "nvml/", "/gpu_utilization"); use.num_means > 0) {
    gpu += fmt::format(", {:.0f} % busy", use.sum_of_means / static_cast<double>(use.num_means));
  }
  if (const auto memory = metric_kind(metrics, "nvml/", "/memory_used"); memory.num_means > 0) {
    gpu += fmt::format(", memory in use up to {}", bytes_text(memory.highest));
  }
  if (const auto heat = metric_kind(metrics, "nvml/", "/temperature"); heat.num_means > 0) {
    gpu += fmt::format(", temperature up to {:.0f} degC", heat.highest);
  }
  gpu += throttle_text(metrics);
  std::string cpu;
  if (const auto tree = metric_kind(metrics, "load/rank-", "/cpu_time"); tree.num_counters > 0) {
    cpu += fmt::format(", {:.2f} s of the command", tree.difference);
    if (duration.value() > 0.0) {
      cpu += fmt::format(" ({:.2f} cores)", tree.difference / duration.value());
    }
  }
  if (const auto node = metric_kind(metrics, "load/node", "/cpu_time"); node.num_counters > 0) {
    cpu += fmt::format(
        ", {:.2f} s of the whole {}", node.difference, node.num_counters > 1 ? "nodes" : "node");
  }
  if (const auto rss = metric_kind(metrics, "load/rank-", "/rss"); rss.num_means > 0) {
    cpu += fmt::format(", memory in use up to {} in a rank", bytes_text(rss.highest));
  }
  std::string text;
  if (!gpu.empty()) {
    text += fmt::format("  GPU use     {}\n", gpu.substr(2));
  }
  if (!cpu.empty()) {
    text += fmt::format("  CPU time    {}\n", cpu.substr(2));
  }
  return text;
}

/// "; exit status 3"; nothing for a command that succeeded.
std::string end_text(const RunRecord& run) {
  if (succeeded(run)) {
    return "";
  }
  const RankRecord* first = first_failure(run.ranks);
  const auto num_failed = std::ranges::count_if(run.ranks, failed);
  const std::string whose =
      run.ranks.size() > 1 && first != nullptr
          ? fmt::format(
                "{}rank {}: ",
                num_failed > 1
                    ? fmt::format("{} of {} ranks failed, first ", num_failed, run.ranks.size())
                    : "",
                first->rank)
          : "";
  if (run.signal) {
    const char* name = ::sigabbrev_np(*run.signal);
    return fmt::format("; {}ended by signal {}{}",
                       whose,
                       *run.signal,
                       name == nullptr ? "" : fmt::format(" (SIG{})", name));
  }
  if (run.exit_status) {
    return fmt::format("; {}exit status {}", whose, *run.exit_status);
  }
  if (run.launch.expected_ranks.value_or(0) > static_cast<int>(run.ranks.size())) {
    return "; how ranks without a record ended is not known";
  }
  const auto unknown = std::ranges::find_if(
      run.ranks, [](const RankRecord& rank) { return !rank.exit_status && !rank.signal; });
  return run.ranks.size() > 1 && unknown != run.ranks.end()
             ? fmt::format("; how rank {} ended is not known", unknown->rank)
             : "; how it ended is not known";
}

/// "2 and 5": the ranks that are not in the record; nothing where they are too many to name.
std::string missing_ranks(const RunRecord& run) {
  constexpr std::size_t kMostNamed = 8;
  std::set<int> missing;
  for (int rank = 0; rank < run.launch.expected_ranks.value_or(0); ++rank) {
    missing.insert(rank);
  }
  for (const RankRecord& rank : run.ranks) {
    missing.erase(rank.rank);
  }
  return missing.size() > kMostNamed ? "" : fmt::format(" (not: {})", fmt::join(missing, ", "));
}

/// Why the total lacks something that should be in it.
std::string lack_lines(const RunRecord& run) {
  std::string text;
  const bool journal_lost =
      std::ranges::find(run.source_notes, "journal", &SourceNote::source) != run.source_notes.end();
  for (const SourceNote& note : run.source_notes) {
    if (note.missing) {
      text += fmt::format("  not measured: {}: {}\n", note.source, note.note);
    } else if (note.source == "journal" || note.source == "command" ||
               note.note.find("CUDA_VISIBLE_DEVICES") != std::string::npos) {
      text += fmt::format("  {}\n", note.note);
    }
  }
  if (!run.energy.total && !journal_lost) {
    const bool is_read = std::ranges::any_of(run.energy.components, [](const auto& component) {
      return component.second.provenance != Provenance::kEstimated;
    });
    text += fmt::format("  {}: 'joulescale sensors' says why\n",
                        is_read ? "no counter that counts in a total was read"
                                : "no counter and no power value was read");
  }
  return text;
}

/// ", the last one 0.35 s after it".
std::string lateness(const std::vector<SourceRecord>& sources) {
  Seconds latest;
  for (const SourceRecord& source : sources) {
    latest = std::max(latest, source.late_start.value_or(Seconds()));
  }
  return fmt::format(", the last one by {:.3g} s", latest.value());
}

}  // namespace

std::string format_summary(const RunRecord& run, const std::string& directory) {
  std::string text = fmt::format("joulescale: {:.3f} s on {} {}{}{}\n",
                                 run.duration.value(),
                                 run.devices.count,
                                 run.devices.kind == "gpu" ? "GPU" : "CPU rank",
                                 run.devices.count == 1 ? "" : "s",
                                 end_text(run));
  text += components_table(run.energy);
  text += totals(run.energy);
  text += rates(run);
  text += device_hours_line(run);
  if (run.baseline) {
    text += baseline_lines(*run.baseline);
  }
  text += metrics_lines(run.metrics, run.duration);
  const auto num_ranks = static_cast<int>(run.ranks.size());
  if (run.launch.expected_ranks.value_or(0) > num_ranks) {
    text += fmt::format("  {} of {} ranks left a record{}; what the others used is not known\n",
                        num_ranks,
                        *run.launch.expected_ranks,
                        missing_ranks(run));
  }
  for (const std::string& flag : run.flags) {
    text += fmt::format("  flag        {}: {}{}\n",
                        flag,
                        flag_meaning(flag),
                        flag == "late_start" ? lateness(run.sources) : "");
  }
  text += lack_lines(run);
  if (!directory.empty()) {
    text += fmt::format("  record: {}\n", directory);
  }
  return text;
}

}  // namespace joulescale
