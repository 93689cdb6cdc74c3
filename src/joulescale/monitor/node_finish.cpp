// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/node_finish.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "joulescale/base/file.h"
#include "joulescale/monitor/baseline.h"
#include "joulescale/monitor/marks_summary.h"
#include "joulescale/monitor/node_replay.h"
#include "joulescale/monitor/shared_node.h"

namespace joulescale {
namespace {

/// So that the doubt about when a counter moved is a tenth of a window's energy at most.
constexpr int kPeakWindowResolutions = 10;
constexpr Nanoseconds kLeastPeakWindow = std::chrono::milliseconds(200);

struct NodeTimes {
  Nanoseconds begin{0};  // of the first command
  Nanoseconds end{0};    // of the last one
};

void add_hardware(const HardwareRecord& from, HardwareRecord& into) {
  if (!into.gpu_model) {
    into.gpu_model = from.gpu_model;
    into.driver = from.driver;
  }
  if (from.gpus_per_node) {
    into.gpus_per_node = std::max(into.gpus_per_node.value_or(0), *from.gpus_per_node);
  }
}

void add_overhead(const OverheadRecord& from, OverheadRecord& into) {
  if (from.cpu_time) {
    into.cpu_time = into.cpu_time.value_or(Seconds(0.0)) + *from.cpu_time;
  }
  if (from.peak_rss_bytes) {
    into.peak_rss_bytes = into.peak_rss_bytes.value_or(0) + *from.peak_rss_bytes;
  }
}

/// Each end of the window may lie half a resolution off the energy that is read for it. A window
/// that is the whole run is as uncertain as the run's energy.
Watts peak_uncertainty(const PowerRecord& power, Seconds duration, const NodeEnergy& energy) {
  const Seconds window = *power.peak_window;
  const Watts by_edges =
      *power.peak * std::min(to_seconds(energy.coarsest_resolution) / window, 1.0);
  if (window < duration) {
    return by_edges;
  }
  Joules whole_run;
  for (const GroupEnergy& group : energy.groups) {
    whole_run += group.counted ? group.energy.uncertainty.value_or(Joules(0.0)) : Joules(0.0);
  }
  return std::max(by_edges, whole_run / window);
}

NodeTimes times_of(const std::vector<RankRecordFile>& ranks) {
  NodeTimes times{Nanoseconds::max(), Nanoseconds(0)};
  for (const RankRecordFile& rank : ranks) {
    times.begin = std::min(times.begin, rank.began.value_or(times.begin));
    times.end = std::max(times.end, rank.ended.value_or(Nanoseconds(0)));
  }
  times.begin = std::min(times.begin, times.end);
  return times;
}

/// What all journals of the node say, of readings before `until`.
Result<NodeMeter> replay_journals(const NodeDirectory& node,
                                  Nanoseconds begin,
                                  Nanoseconds until = Nanoseconds::max()) {
  JOULESCALE_TRY_ASSIGN(NodeReplay replay, NodeReplay::open(node, until));
  NodeMeter meter(NodeMeter::Keep::kTotals);
  meter.keep_begin(begin);
  while (true) {
    JOULESCALE_TRY_ASSIGN(const bool more, replay.feed(meter));
    if (!more) {
      return meter;
    }
  }
}

/// The energies of the baseline; nothing if they are not known.
Result<std::optional<NodeEnergy>> idle_energy(const NodeDirectory& node,
                                              const BaselineWindow& window,
                                              LiveMeter* live) {
  if (!is_usable(window)) {
    return std::optional<NodeEnergy>();
  }
  if (live != nullptr && !live->journal_is_whole) {
    return live->idle == nullptr ? std::optional<NodeEnergy>()
                                 : std::optional(live->idle->finish(window.begin, window.end));
  }
  JOULESCALE_TRY_ASSIGN(NodeMeter meter, replay_journals(node, window.begin, window.end));
  return std::optional(meter.finish(window.begin, window.end));
}

Result<void> add_baseline(const NodeDirectory& node,
                          const std::vector<RankRecordFile>& ranks,
                          LiveMeter* live,
                          NodeReport& report) {
  if (const auto window = baseline_window(ranks)) {
    JOULESCALE_TRY_ASSIGN(const auto idle, idle_energy(node, *window, live));
    add_node_baseline(*window, idle ? &*idle : nullptr, ranks, report);
  }
  return {};
}

}  // namespace

Result<std::vector<RankRecordFile>> read_rank_records(const RunDirectory& directory,
                                                      const std::string& node_directory) {
  std::vector<RankRecordFile> records;
  std::error_code error;
  std::filesystem::directory_iterator entry(directory.ranks(), error);
  for (const std::filesystem::directory_iterator end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() != ".json") {
      continue;
    }
    JOULESCALE_TRY_ASSIGN(const std::string text, read_file(entry->path()));
    if (text.empty()) {
      continue;
    }
    auto record = parse_rank_record(text);
    if (!record) {
      return std::move(record).error().with_context(entry->path().native());
    }
    if (node_directory.empty() || record->node_directory == node_directory) {
      records.push_back(std::move(record).value());
    }
  }
  if (error) {
    return Error(
        ErrorCode::kIo,
        fmt::format("'{}' cannot be read: {}", directory.ranks().native(), error.message()));
  }
  std::ranges::sort(records, {}, &RankRecordFile::rank);
  return records;
}

Result<NodeReport> make_node_report(const LaunchInfo& launch,
                                    const NodeDirectory& node,
                                    const std::vector<RankRecordFile>& ranks,
                                    LiveMeter* live,
                                    std::vector<std::string>& notes) {
  const NodeTimes times = times_of(ranks);
  NodeEnergy energy;
  if (live != nullptr) {
    energy = live->meter.finish(times.begin, times.end);
  } else {
    JOULESCALE_TRY_ASSIGN(NodeMeter meter, replay_journals(node, times.begin));
    energy = meter.finish(times.begin, times.end);
  }
  std::optional<NodeTimeline> timeline;
  const bool has_journal = !node.journals().empty();  // not where somebody removed the directory
  if (has_journal && (live == nullptr || live->journal_is_whole)) {
    JOULESCALE_TRY_ASSIGN(timeline, NodeTimeline::open(node, energy, times.begin, times.end));
  }
  // It reads the same silicon, all of it or none.
  const bool perf_counts = std::ranges::any_of(energy.counted, [](const CountedChannel& channel) {
    return channel.name.starts_with("perf/");
  });
  const Nanoseconds peak_window =
      std::max(kPeakWindowResolutions * energy.coarsest_resolution, kLeastPeakWindow);
  std::optional<PeakPower> peak;
  if (timeline) {
    peak.emplace(*timeline, times.begin, times.end, peak_window);
  }
  MarksSummary marks =
      summarise_marks(node.marks(), peak ? &*peak : nullptr, times.begin, times.end);
  notes.insert(notes.end(), marks.notes.begin(), marks.notes.end());

  NodeReport report;
  report.identity = ranks.front().facts.identity;
  report.registered_ranks = marks.registered_ranks;
  RunRecord& part = report.part;
  part.id = launch.id;
  part.started_at = launch.started_at;
  part.launch = {launch.key, launch.launcher, {}};
  part.nodes = ranks.front().facts.part.nodes;
  part.duration = to_seconds(times.end - times.begin);
  part.sources = std::move(energy.sources);
  part.metrics = std::move(energy.metrics);
  for (MetricRecord& metric : part.metrics) {
    metric.node = report.identity;
  }
  part.power.mean = energy.mean_power;
  part.power.peak = peak ? peak->finish() : std::nullopt;
  if (part.power.peak) {
    part.power.peak_window = std::min(to_seconds(peak_window), part.duration);
    part.power.peak_uncertainty = peak_uncertainty(part.power, part.duration, energy);
  }
  report.groups = std::move(energy.groups);
  part.regions = std::move(marks.regions);
  part.training = std::move(marks.training);
  part.hardware = ranks.front().facts.part.hardware;
  std::set<std::string> flags(energy.flags.begin(), energy.flags.end());
  std::set<std::string> gpus;
  std::set<SourceNote> source_notes;
  std::set<std::string> starts;  // of commands; as times of one form they sort as texts
  for (const RankRecordFile& rank : ranks) {
    const RunRecord& facts = rank.facts.part;
    source_notes.insert(facts.source_notes.begin(), facts.source_notes.end());
    if (rank.began) {
      starts.insert(facts.started_at);
    }
    flags.insert(facts.flags.begin(), facts.flags.end());
    gpus.insert(rank.facts.gpus.begin(), rank.facts.gpus.end());
    part.ranks.insert(part.ranks.end(), facts.ranks.begin(), facts.ranks.end());
    add_hardware(facts.hardware, part.hardware);
    add_overhead(facts.overhead, part.overhead);
  }
  if (is_shared_node(part.metrics, ranks.size(), part.overhead.cpu_time.value_or(Seconds(0.0)))) {
    flags.emplace("shared_node");
  }
  for (const std::string& channel : energy.still) {
    source_notes.insert(
        {channel.substr(0, channel.find('/')),
         report.identity,
         fmt::format("{} moved (or answered) less than twice in the run: its energy is not known",
                     channel),
         true});
  }
  part.source_notes.assign(source_notes.begin(), source_notes.end());
  for (SourceNote& note : part.source_notes) {
    note.missing = note.missing && !(note.source == "powercap" && perf_counts);
    if (note.missing) {
      flags.emplace("no_sensor");
    }
  }
  part.flags.assign(flags.begin(), flags.end());
  if (!starts.empty()) {
    part.started_at = *starts.begin();
  }
  report.gpus.assign(gpus.begin(), gpus.end());
  if (const int seen = static_cast<int>(gpus.size()); seen > 0) {
    part.hardware.gpus_per_node = std::max(part.hardware.gpus_per_node.value_or(0), seen);
  }
  JOULESCALE_TRY(add_baseline(node, ranks, live, report));
  return report;
}

}  // namespace joulescale
