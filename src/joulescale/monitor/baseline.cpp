// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/baseline.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace joulescale {
namespace {

/// The shortest length that --baseline takes, less what timers are early.
constexpr Nanoseconds kShortest = std::chrono::milliseconds(900);
/// A node whose hardware threads are busy for more than this share is not called idle.
constexpr double kMostIdleBusyShare = 0.1;

/// Where like channels are read: their errors go together, as in the run's own sums (merge.cpp).
using Likes = std::pair<const NodeReport*, std::string>;

/// A sum of powers or energies: nothing as soon as one part is missing.
template <typename T>
struct Sum {
  T value;
  std::map<Likes, T> uncertainties;
  bool complete = true;

  void add(const CountedGroup& part_of, const T& part, const std::optional<T>& part_uncertainty) {
    value += part;
    uncertainties[{part_of.report, part_of.group->component}] += part_uncertainty.value_or(T(0.0));
  }
  bool holds() const { return complete && !uncertainties.empty(); }
  T uncertainty() const {
    double sum = 0.0;
    for (const auto& [likes, one] : uncertainties) {
      sum = std::hypot(sum, one.value());
    }
    return T(sum);
  }
};

bool is_estimate(const GroupEnergy& group) {
  return group.energy.provenance == Provenance::kEstimated;
}

/// Idle power above the run's own is a sign that something else ran in the baseline.
bool took_more_than_in_run(const GroupEnergy& group, Seconds duration) {
  if (!group.idle || is_estimate(group) || duration <= Seconds(0.0)) {
    return false;
  }
  const Watts in_run = group.energy.energy / duration;
  const Watts doubt = group.idle->uncertainty.value_or(Watts(0.0)) +
                      group.energy.uncertainty.value_or(Joules(0.0)) / duration;
  return group.idle->power > in_run + doubt;
}

void add_notes(const NodeEnergy& idle, NodeReport& report) {
  BaselineRecord& baseline = *report.part.baseline;
  if (baseline.cpu_busy_share.value_or(0.0) > kMostIdleBusyShare) {
    baseline.notes.push_back(
        fmt::format("not idle: the CPUs were busy for {:.0f} % of the baseline (at most {:.0f} %)",
                    100.0 * *baseline.cpu_busy_share,
                    100.0 * kMostIdleBusyShare));
  }
  for (const GroupEnergy& group : report.groups) {
    if (group.counted && took_more_than_in_run(group, report.part.duration)) {
      baseline.notes.push_back(
          fmt::format("not idle: {} took {:.4g} W in the baseline, more than in the run ({:.4g} W)",
                      group.group,
                      group.idle->power.value(),
                      (group.energy.energy / report.part.duration).value()));
    }
  }
  if (std::ranges::find(idle.flags, "late_start") != idle.flags.end()) {
    baseline.notes.emplace_back(
        "a source came after the baseline had begun: its power may be too low, within the stated "
        "uncertainty");
  }
}

/// Each component's power; those of which a part is missing are left out.
void add_components(std::span<const CountedGroup> groups, BaselineRecord& baseline) {
  std::map<std::string, Sum<Watts>> sums;
  for (const CountedGroup& counted : groups) {
    const GroupEnergy* group = counted.group;
    Sum<Watts>& sum = sums[group->component];
    sum.complete = sum.complete && group->idle;
    if (group->idle) {
      sum.add(counted, group->idle->power, group->idle->uncertainty);
      BaselinePower& component = baseline.components[group->component];
      component.provenance = std::max(component.provenance, group->idle->provenance);
    }
  }
  for (const auto& [name, sum] : sums) {
    if (!sum.complete) {
      baseline.components.erase(name);
      continue;
    }
    BaselinePower& component = baseline.components[name];
    component.power = sum.value;
    if (component.provenance != Provenance::kEstimated) {
      component.uncertainty = sum.uncertainty();
    }
  }
}

void add_sums(std::span<const CountedGroup> groups,
              const EnergyRecord& energy,
              BaselineRecord& baseline) {
  Sum<Watts> power;
  Sum<Joules> used;
  Sum<Watts> estimated_power;
  Sum<Joules> estimated;
  for (const CountedGroup& counted : groups) {
    const GroupEnergy* group = counted.group;
    if (!group->counted) {
      continue;
    }
    const bool estimate = is_estimate(*group);
    Sum<Watts>& watts = estimate ? estimated_power : power;
    Sum<Joules>& joules = estimate ? estimated : used;
    const bool same_kind =
        group->idle && (group->idle->provenance == Provenance::kEstimated) == estimate;
    watts.complete = watts.complete && same_kind;
    if (same_kind) {
      const Seconds duration = counted.report->part.duration;
      watts.add(counted, group->idle->power, group->idle->uncertainty);
      joules.add(counted,
                 group->idle->power * duration,
                 group->idle->uncertainty ? std::optional(*group->idle->uncertainty * duration)
                                          : std::nullopt);
    }
  }
  if (power.holds()) {
    baseline.power = power.value;
    baseline.power_uncertainty = power.uncertainty();
    baseline.energy = used.value;
    baseline.energy_uncertainty = used.uncertainty();
    if (energy.total) {
      baseline.above = *energy.total - used.value;
      // The baseline's end is the run's begin: one error may be in both.
      baseline.above_uncertainty =
          energy.total_uncertainty.value_or(Joules(0.0)) + used.uncertainty();
    }
  }
  if (estimated_power.holds()) {
    baseline.estimated_power = estimated_power.value;
    baseline.estimated = estimated.value;
  }
  if (!power.complete) {
    baseline.notes.emplace_back("some sources have no value in the baseline: no sum");
  }
}

}  // namespace

std::optional<BaselineWindow> baseline_window(std::span<const RankRecordFile> ranks) {
  std::optional<Nanoseconds> begin;
  std::optional<Nanoseconds> end;
  for (const RankRecordFile& rank : ranks) {
    if (rank.baseline_began && rank.began) {
      begin = std::min(begin.value_or(*rank.baseline_began), *rank.baseline_began);
    }
    if (rank.began) {
      end = std::min(end.value_or(*rank.began), *rank.began);
    }
  }
  return begin && end ? std::optional(BaselineWindow{*begin, *end}) : std::nullopt;
}

bool is_usable(const BaselineWindow& window) { return window.end - window.begin >= kShortest; }

void add_node_baseline(const BaselineWindow& window,
                       const NodeEnergy* idle,
                       std::span<const RankRecordFile> ranks,
                       NodeReport& report) {
  BaselineRecord& baseline = report.part.baseline.emplace();
  if (!is_usable(window)) {
    baseline.notes.emplace_back("another rank's command was started in the baseline: no value");
    return;
  }
  if (idle == nullptr) {
    baseline.notes.emplace_back("the journal is incomplete: no value");
    return;
  }
  const Seconds duration = to_seconds(window.end - window.begin);
  baseline.duration = duration;
  for (const RankRecordFile& rank : ranks) {
    if (rank.baseline_began == window.begin) {  // the others' may hold its command
      baseline.cpu_busy_share = rank.baseline_cpu_busy;
    }
  }
  for (GroupEnergy& group : report.groups) {
    for (const GroupEnergy& entry : idle->groups) {
      if (entry.component != group.component || entry.group != group.group) {
        continue;
      }
      BaselinePower& power = group.idle.emplace();
      power.power = entry.energy.energy / duration;
      power.provenance = entry.energy.provenance;
      if (entry.energy.uncertainty) {
        power.uncertainty = *entry.energy.uncertainty / duration;
      }
    }
  }
  add_notes(*idle, report);
}

void add_run_baseline(std::span<const NodeReport> nodes,
                      std::span<const CountedGroup> groups,
                      RunRecord& run) {
  std::size_t num_with_value = 0;
  for (const NodeReport& report : nodes) {
    if (!report.part.baseline) {
      continue;
    }
    const BaselineRecord& part = *report.part.baseline;
    run.baseline = run.baseline.value_or(BaselineRecord());
    BaselineRecord& baseline = *run.baseline;
    if (part.duration) {
      ++num_with_value;
      baseline.duration = std::min(baseline.duration.value_or(*part.duration), *part.duration);
    }
    if (part.cpu_busy_share) {
      baseline.cpu_busy_share =
          std::max(baseline.cpu_busy_share.value_or(0.0), *part.cpu_busy_share);
    }
    for (const std::string& note : part.notes) {
      baseline.notes.push_back(nodes.size() > 1 ? fmt::format("{}: {}", host_of(report), note)
                                                : note);
    }
  }
  if (!run.baseline || num_with_value == 0) {
    return;
  }
  if (num_with_value < nodes.size()) {
    run.baseline->notes.push_back(
        fmt::format("only {} of {} nodes have a baseline: no sum", num_with_value, nodes.size()));
    return;
  }
  add_components(groups, *run.baseline);
  add_sums(groups, run.energy, *run.baseline);
}

}  // namespace joulescale
