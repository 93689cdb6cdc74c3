// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/marks_summary.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include <fmt/format.h>

#include "joulescale/base/frame_log.h"
#include "joulescale/monitor/marks/mark_writer.h"
#include "joulescale/monitor/training_merge.h"

namespace joulescale {
namespace {

struct RegionTotals {
  std::uint64_t count = 0;
  Seconds duration;
  Joules measured;
  Joules estimated;
  Joules uncertainty;
  bool top_level = false;  // some visit was inside no other region
};

struct OpenRegion {
  Nanoseconds begin{0};
  int depth = 0;
};

/// Reads one marks file.
class MarksReader {
 public:
  MarksReader(const NodeCurves& curves,
              Nanoseconds begin,
              Nanoseconds end,
              std::map<std::string, RegionTotals>& regions)
      : curves_(curves),
        begin_(begin),
        end_(end),
        measured_(curves.measured),
        estimated_(curves.estimated),
        regions_(regions) {}

  void visit(std::uint8_t type, std::string_view payload);
  /// Ends the regions that were never left, at the last time in the file.
  void finish();

  std::uint32_t pid = 0;
  std::optional<std::uint32_t> rank;
  std::optional<std::uint64_t> samples;
  std::optional<std::uint64_t> updates;
  std::vector<std::string> training;

 private:
  void open_region(std::uint32_t id, Nanoseconds time);
  void close_region(std::uint32_t id, Nanoseconds time);
  void add_visit(RegionTotals& totals, Nanoseconds from, Nanoseconds to);
  void count(MarkCounter counter, std::uint64_t increment);

  const NodeCurves& curves_;
  Nanoseconds begin_;
  Nanoseconds end_;
  EnergyCurve::Cursor measured_;
  EnergyCurve::Cursor estimated_;
  std::map<std::string, RegionTotals>& regions_;
  std::map<std::uint32_t, RegionTotals*> region_of_id_;
  std::map<std::uint32_t, OpenRegion> open_;
  Nanoseconds last_time_{0};
};

void MarksReader::visit(std::uint8_t type, std::string_view payload) {
  PayloadReader reader(payload);
  switch (static_cast<MarkType>(type)) {
    case MarkType::kProcess:
      pid = reader.u32();
      break;
    case MarkType::kRank:
      if (const std::uint32_t value = reader.u32(); reader.ok()) {
        rank = value;
      }
      break;
    case MarkType::kName: {
      const std::uint32_t id = reader.u32();
      const std::string name(reader.text());
      if (reader.ok()) {
        region_of_id_[id] = &regions_[name];
      }
      break;
    }
    case MarkType::kBegin:
    case MarkType::kEnd: {
      const std::uint32_t id = reader.u32();
      const Nanoseconds time(reader.i64());
      if (reader.ok() && region_of_id_.contains(id)) {
        last_time_ = std::max(last_time_, time);
        type == static_cast<std::uint8_t>(MarkType::kBegin) ? open_region(id, time)
                                                            : close_region(id, time);
      }
      break;
    }
    case MarkType::kCounter: {
      const auto counter = static_cast<MarkCounter>(reader.u8());
      const std::uint64_t increment = reader.u64();
      last_time_ = std::max(last_time_, Nanoseconds(reader.i64()));
      if (reader.ok()) {
        count(counter, increment);
      }
      break;
    }
    case MarkType::kTraining:
      training.emplace_back(reader.text());
      break;
    default:  // of a later version
      break;
  }
}

void MarksReader::open_region(std::uint32_t id, Nanoseconds time) {
  const bool top_level = open_.empty();
  OpenRegion& region = open_[id];
  if (region.depth++ == 0) {
    region.begin = time;
    region_of_id_[id]->top_level = region_of_id_[id]->top_level || top_level;
  }
}

void MarksReader::close_region(std::uint32_t id, Nanoseconds time) {
  const auto region = open_.find(id);
  if (region == open_.end() || --region->second.depth > 0) {
    return;
  }
  add_visit(*region_of_id_[id], region->second.begin, time);
  open_.erase(region);
}

void MarksReader::add_visit(RegionTotals& totals, Nanoseconds from, Nanoseconds to) {
  from = std::clamp(from, begin_, end_);
  to = std::clamp(to, begin_, end_);
  ++totals.count;
  if (to <= from) {
    return;
  }
  const Seconds duration = to_seconds(to - from);
  totals.duration += duration;
  const Joules measured_before = measured_.at(from);
  const Joules measured = measured_.at(to) - measured_before;
  totals.measured += measured;
  const Joules estimated_before = estimated_.at(from);
  totals.estimated += estimated_.at(to) - estimated_before;
  // Within the curve's time scale the power may be anything from nothing to twice the mean.
  const double unresolved = to_seconds(curves_.resolution) / duration / 2.0;
  totals.uncertainty += measured * std::min(1.0, unresolved);
}

void MarksReader::finish() {
  for (const auto& [id, region] : open_) {
    add_visit(*region_of_id_[id], region.begin, last_time_);
  }
  open_.clear();
}

void MarksReader::count(MarkCounter counter, std::uint64_t increment) {
  std::optional<std::uint64_t>* total = counter == MarkCounter::kSamples   ? &samples
                                        : counter == MarkCounter::kUpdates ? &updates
                                                                           : nullptr;
  if (total != nullptr) {
    *total = total->value_or(0) + increment;
  }
}

std::optional<std::int64_t> as_count(std::optional<std::uint64_t> value) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return value ? std::optional(static_cast<std::int64_t>(std::min(*value, kMost))) : std::nullopt;
}

/// What all files of the node say together.
struct NodeMarks {
  std::map<std::string, RegionTotals> regions;
  std::set<std::uint32_t> ranks;
  std::set<std::uint32_t> registered_pids;
  std::set<std::uint32_t> pids;
  bool has_training = false;

  int sharers() const {
    std::set<std::uint32_t> others;
    std::ranges::set_difference(pids, registered_pids, std::inserter(others, others.begin()));
    return std::max(1, static_cast<int>(ranks.size() + others.size()));
  }
};

void add_file(const MarksReader& file, NodeMarks& node, MarksSummary& summary) {
  node.pids.insert(file.pid);
  if (file.rank) {
    node.ranks.insert(*file.rank);
    node.registered_pids.insert(file.pid);
  }
  if (file.samples) {
    summary.samples = summary.samples.value_or(0) + *file.samples;
  }
  if (file.updates) {
    summary.updates = std::max(summary.updates.value_or(0), *file.updates);
  }
  for (const std::string& json : file.training) {
    node.has_training = true;
    if (!summary.training) {
      summary.training.emplace();
    }
    if (auto merged = merge_training_json(json, *summary.training); !merged) {
      summary.notes.push_back(merged.error().text());
    }
  }
}

void add_regions(const NodeMarks& node, const NodeCurves& curves, MarksSummary& summary) {
  const double share = 1.0 / node.sharers();
  for (const auto& [name, totals] : node.regions) {
    RegionRecord region;
    region.name = name;
    region.count = totals.count;
    region.duration = totals.duration;
    PhaseRecord phase;
    phase.duration = totals.duration;
    if (!curves.measured.empty()) {
      region.energy = phase.energy = totals.measured * share;
      region.uncertainty = phase.uncertainty = totals.uncertainty * share;
    }
    if (!curves.estimated.empty()) {
      region.estimated = phase.estimated = totals.estimated * share;
    }
    if (node.has_training && totals.top_level) {
      summary.training->phases[name] = phase;
    }
    summary.regions.push_back(std::move(region));
  }
}

}  // namespace

MarksSummary summarise_marks(const std::filesystem::path& directory,
                             const NodeCurves& curves,
                             Nanoseconds begin,
                             Nanoseconds end) {
  MarksSummary summary;
  NodeMarks node;
  std::error_code error;
  std::set<std::filesystem::path> files;  // in a fixed order
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.path().extension() == kMarksSuffix) {
      files.insert(entry.path());
    }
  }
  for (const std::filesystem::path& path : files) {
    MarksReader file(curves, begin, end, node.regions);
    const auto read =
        visit_frame_log(path, kMarksMagic, [&](std::uint8_t type, std::string_view payload) {
          file.visit(type, payload);
        });
    if (!read) {
      summary.notes.push_back(read.error().text());
      continue;
    }
    file.finish();
    add_file(file, node, summary);
  }
  summary.registered_ranks = static_cast<int>(node.ranks.size());
  if (summary.samples || summary.updates) {
    TrainingRecord counted;
    counted.samples = as_count(summary.samples);
    counted.updates = as_count(summary.updates);
    if (!summary.training) {
      summary.training.emplace();
    }
    overlay_training(counted, *summary.training);
  }
  add_regions(node, curves, summary);
  return summary;
}

}  // namespace joulescale
