// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/merge.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <ranges>
#include <set>

#include <fmt/format.h>

#include "joulescale/base/file.h"
#include "joulescale/monitor/baseline.h"
#include "joulescale/monitor/training_merge.h"
#include "joulescale/record/run_json.h"

namespace joulescale {
namespace {

template <typename T>
void add_optional(const std::optional<T>& from, std::optional<T>& into) {
  if (from) {
    into = into.value_or(T{}) + *from;
  }
}

/// Readings of different nodes, and of different kinds of instrument, are independent.
void add_independent(const std::optional<Joules>& from, std::optional<Joules>& into) {
  if (from) {
    into = Joules(std::hypot(into.value_or(Joules(0.0)).value(), from->value()));
  }
}

/// A component in which one part is weaker than the others has the weaker provenance.
Provenance weaker(Provenance a, Provenance b) { return std::max(a, b); }

/// Channels of one kind on one node are read one after the other and often move together: what
/// puts the edge of one wrong may put those of all wrong to the same side.
void add_correlated(const std::optional<Joules>& from, std::optional<Joules>& into) {
  add_optional(from, into);
}

template <typename AddUncertainty>
void add_component(const std::string& name,
                   const ComponentEnergy& part,
                   AddUncertainty add_uncertainty,
                   ComponentMap& components) {
  const auto [entry, is_new] = components.try_emplace(name, part);
  if (is_new) {
    return;
  }
  ComponentEnergy& component = entry->second;
  component.energy += part.energy;
  add_uncertainty(part.uncertainty, component.uncertainty);
  component.provenance = weaker(component.provenance, part.provenance);
  // The cross-check is one only if it covers every part.
  if (component.integrated && part.integrated) {
    component.integrated = *component.integrated + *part.integrated;
  } else {
    component.integrated.reset();
  }
}

/// Adds a counted group to a node's or the run's sums.
void add_to_sums(const GroupEnergy& group,
                 std::optional<Joules>& measured,
                 std::optional<Joules>& estimated) {
  if (group.counted) {
    const bool is_estimate = group.energy.provenance == Provenance::kEstimated;
    add_optional(std::optional(group.energy.energy), is_estimate ? estimated : measured);
  }
}

void finish_energy(EnergyRecord& energy, const std::set<std::string>& included) {
  energy.total_includes.assign(included.begin(), included.end());
  if (energy.total || energy.estimated) {
    energy.total_with_estimates =
        energy.total.value_or(Joules(0.0)) + energy.estimated.value_or(Joules(0.0));
  }
  std::set<std::string> accuracies;
  for (const std::string& name : included) {
    accuracies.insert(fmt::format("{}: {}", name, energy.components.at(name).instrument_accuracy));
  }
  energy.instrument_accuracy = fmt::format("{}", fmt::join(accuracies, "; "));
}

/// What names a source in a whole launch: a GPU's UUID wherever it was read, else its node too.
std::string source_key(const NodeReport& report, const GroupEnergy& group) {
  return group.component == "gpu" ? group.group
                                  : report.identity + '\n' + group.component + '\n' + group.group;
}

/// The report whose figure of a source counts: where several have one, the largest, which saw most.
std::map<std::string, const GroupEnergy*> counted_groups(std::span<const NodeReport> nodes) {
  std::map<std::string, const GroupEnergy*> counted;
  for (const NodeReport& report : nodes) {
    for (const GroupEnergy& group : report.groups) {
      const GroupEnergy*& known =
          counted.try_emplace(source_key(report, group), &group).first->second;
      if (group.energy.energy > known->energy.energy) {
        known = &group;
      }
    }
  }
  return counted;
}

void add_energy(std::span<const NodeReport> nodes, RunRecord& run) {
  const auto counted = counted_groups(nodes);
  std::set<std::string> included;
  std::vector<CountedGroup> groups;
  for (const NodeReport& report : nodes) {
    NodeRecord& node = run.nodes.emplace_back();
    std::map<std::string, std::optional<Joules>> uncertainties;  // of what the total counts
    node.host = host_of(report);
    node.node = report.identity;
    for (const GroupEnergy& group : report.groups) {
      if (counted.at(source_key(report, group)) != &group) {
        run.flags.emplace_back("duplicate_source");
        continue;
      }
      groups.push_back({&report, &group});
      add_component(group.component, group.energy, add_correlated, node.components);
      add_to_sums(group, node.energy, node.estimated);
      add_to_sums(group, run.energy.total, run.energy.estimated);
      if (group.counted && group.energy.provenance != Provenance::kEstimated) {
        add_correlated(group.energy.uncertainty, uncertainties[group.component]);
        included.insert(group.component);
      }
    }
    for (const auto& [name, component] : node.components) {
      add_component(name, component, add_independent, run.energy.components);
    }
    for (const auto& [name, uncertainty] : uncertainties) {
      add_independent(uncertainty, run.energy.total_uncertainty);
    }
  }
  finish_energy(run.energy, included);
  add_run_baseline(nodes, groups, run);
}

void add_regions(std::span<const NodeReport> nodes, RunRecord& run) {
  std::map<std::string, RegionRecord> regions;
  for (const NodeReport& report : nodes) {
    for (const RegionRecord& part : report.part.regions) {
      RegionRecord& region = regions[part.name];
      region.name = part.name;
      region.count += part.count;
      region.duration += part.duration;
      add_optional(part.energy, region.energy);
      add_optional(part.estimated, region.estimated);
      add_optional(part.uncertainty, region.uncertainty);
    }
  }
  for (auto& [name, region] : regions) {
    run.regions.push_back(std::move(region));
  }
}

void add_training(const TrainingRecord& part, RunRecord& run) {
  if (!run.training) {
    run.training = part;
    return;
  }
  TrainingRecord& training = *run.training;
  TrainingRecord summed = part;
  add_optional(training.samples, summed.samples);
  if (training.updates) {
    summed.updates = std::max(*training.updates, summed.updates.value_or(0));
  }
  for (auto& [name, phase] : summed.phases) {
    if (const auto other = training.phases.find(name); other != training.phases.end()) {
      phase.duration += other->second.duration;
      add_optional(other->second.energy, phase.energy);
      add_optional(other->second.estimated, phase.estimated);
      add_optional(other->second.uncertainty, phase.uncertainty);
    }
  }
  overlay_training(summed, training);
}

void add_devices(std::span<const NodeReport> nodes, RunRecord& run) {
  std::set<std::string> gpus;
  int registered = 0;
  for (const NodeReport& report : nodes) {
    gpus.insert(report.gpus.begin(), report.gpus.end());
    registered += report.registered_ranks;
  }
  if (!gpus.empty()) {
    run.devices = {"gpu", static_cast<int>(gpus.size())};
  } else {
    const int launched = static_cast<int>(run.ranks.size());
    run.devices = {"cpu_rank", std::max({1, registered, launched})};
  }
  run.device_hours = run.devices.count * hours(run.duration);
}

/// Two containers on one node each read its metrics, and what both counted is in both their peaks.
void leave_out_duplicates(RunRecord& run) {
  std::map<std::pair<std::string, std::string>, const MetricRecord*> longest;
  for (const MetricRecord& metric : run.metrics) {
    const MetricRecord*& known =
        longest.try_emplace({metric.node, metric.name}, &metric).first->second;
    if (metric.samples > known->samples) {
      known = &metric;
    }
  }
  std::vector<MetricRecord> metrics;
  for (const MetricRecord& metric : run.metrics) {
    if (longest.at({metric.node, metric.name}) == &metric) {
      metrics.push_back(metric);
    }
  }
  run.metrics = std::move(metrics);
  if (std::ranges::find(run.flags, "duplicate_source") != run.flags.end()) {
    run.power.peak.reset();
    run.power.peak_uncertainty.reset();
    run.power.peak_window.reset();
  }
}

/// Of the rank that failed first, else 0; nothing if none failed and a rank's status is not known.
void add_status(int expected_ranks, RunRecord& run) {
  const bool all_came = run.ranks.size() >= static_cast<std::size_t>(expected_ranks);
  const bool known = all_came && std::ranges::all_of(run.ranks, [](const RankRecord& rank) {
                       return rank.exit_status || rank.signal;
                     });
  if (known) {
    run.exit_status = 0;
  }
  if (const RankRecord* first = first_failure(run.ranks)) {
    run.exit_status = first->exit_status;
    run.signal = first->signal;
  }
}

void add_parts(std::span<const NodeReport> nodes, RunRecord& run) {
  std::set<std::string> flags(run.flags.begin(), run.flags.end());
  for (const NodeReport& report : nodes) {
    const RunRecord& part = report.part;
    run.duration = std::max(run.duration, part.duration);
    run.ranks.insert(run.ranks.end(), part.ranks.begin(), part.ranks.end());
    run.sources.insert(run.sources.end(), part.sources.begin(), part.sources.end());
    run.metrics.insert(run.metrics.end(), part.metrics.begin(), part.metrics.end());
    flags.insert(part.flags.begin(), part.flags.end());
    add_optional(part.power.peak, run.power.peak);
    add_optional(part.power.peak_uncertainty, run.power.peak_uncertainty);
    run.source_notes.insert(
        run.source_notes.end(), part.source_notes.begin(), part.source_notes.end());
    run.power.peak_window = std::max(run.power.peak_window, part.power.peak_window);
    add_optional(part.overhead.cpu_time, run.overhead.cpu_time);
    if (part.overhead.peak_rss_bytes) {
      run.overhead.peak_rss_bytes =
          std::max(run.overhead.peak_rss_bytes.value_or(0), *part.overhead.peak_rss_bytes);
    }
    if (part.training) {
      add_training(*part.training, run);
    }
  }
  if (!nodes.empty()) {
    run.hardware = nodes.front().part.hardware;
    // As times of one form they compare as texts.
    run.started_at = std::ranges::min(
        nodes | std::views::transform([](const NodeReport& node) { return node.part.started_at; }));
  }
  std::ranges::sort(run.ranks, {}, &RankRecord::rank);
  run.flags.assign(flags.begin(), flags.end());
}

/// What the environment says of the batch job; its own energy figure is added later by others.
std::optional<SchedulerRecord> scheduler_of(const LaunchInfo& launch) {
  const auto text = [&](const char* name) -> std::optional<std::string> {
    const auto found = launch.environment.find(name);
    return found == launch.environment.end() ? std::nullopt : std::optional(found->second);
  };
  SchedulerRecord scheduler;
  scheduler.job_id = text("SLURM_JOB_ID");
  scheduler.partition = text("SLURM_JOB_PARTITION");
  return scheduler.job_id ? std::optional(scheduler) : std::nullopt;
}

}  // namespace

RunRecord merge_run(const LaunchInfo& launch, std::span<const NodeReport> nodes) {
  RunRecord run;
  run.id = launch.id;
  run.command = launch.command;
  run.started_at = launch.started_at;
  run.launch = {launch.key, launch.launcher, launch.expected_ranks};
  run.version = launch.version;
  run.study = launch.study;
  run.scheduler = scheduler_of(launch);
  run.flags = launch.flags;
  add_energy(nodes, run);
  add_parts(nodes, run);
  leave_out_duplicates(run);
  add_regions(nodes, run);
  add_devices(nodes, run);
  add_status(launch.expected_ranks, run);
  if (run.energy.total && run.duration.value() > 0.0) {
    run.power.mean = *run.energy.total / run.duration;
  }
  return run;
}

Result<FinishedRun> finish_run(const std::filesystem::path& path, Missing missing) {
  const RunDirectory directory{path};
  JOULESCALE_TRY_ASSIGN(LaunchInfo launch, read_launch(directory));
  std::error_code error;
  std::set<std::filesystem::path> files;  // in a fixed order
  for (const auto& entry : std::filesystem::directory_iterator(directory.nodes(), error)) {
    const NodeDirectory node{entry.path()};
    if (std::filesystem::exists(node.report(), error)) {
      files.insert(node.report());
    }
  }
  std::vector<NodeReport> nodes;
  std::size_t num_ranks = 0;
  for (const auto& file : files) {
    JOULESCALE_TRY_ASSIGN(const std::string text, read_file(file));
    auto report = parse_node_report(text);
    if (!report) {
      return std::move(report).error().with_context(file.native());
    }
    num_ranks += report->part.ranks.size();
    nodes.push_back(std::move(report).value());
  }
  const bool complete = num_ranks >= static_cast<std::size_t>(launch.expected_ranks);
  if (nodes.empty() || (!complete && missing == Missing::kRefused)) {
    return Error(ErrorCode::kUnavailable,
                 fmt::format("'{}' is not finished: {} of {} ranks have ended",
                             path.native(),
                             num_ranks,
                             launch.expected_ranks));
  }
  if (!complete) {
    launch.flags.emplace_back("recovered");
  }
  FinishedRun finished{merge_run(launch, nodes)};
  if (missing == Missing::kAllowed && finished.record.duration <= Seconds(0.0)) {
    return Error(ErrorCode::kUnavailable,
                 fmt::format("'{}': no journal holds a reading of the time after a command's "
                             "start: there is nothing to recover",
                             path.native()));
  }
  const std::string text = format_run_record(finished.record);
  JOULESCALE_TRY_ASSIGN(finished.was_new,
                        create_file_atomic(directory.run_file(), text, 0600, Durability::kWhole));
  if (finished.was_new) {
    return finished;
  }
  if (const auto there = read_file(directory.run_file()); !there || *there != text) {
    JOULESCALE_TRY(write_file_atomic(directory.run_file(), text, 0600, Durability::kWhole));
  }
  return finished;
}

}  // namespace joulescale
