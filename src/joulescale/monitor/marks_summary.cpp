// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/marks_summary.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

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
  NodeJoules at_begin;
  Nanoseconds resolution{0};  // about the begin
  int depth = 0;
};

/// One marks file, of which it holds one timed mark at hand.
class MarksReader {
 public:
  using Regions = std::map<std::string, RegionTotals>;

  static Result<std::unique_ptr<MarksReader>> open(const std::filesystem::path& path,
                                                   Regions& regions) {
    JOULESCALE_TRY_ASSIGN(FrameReader log, FrameReader::open(path, kMarksMagic));
    std::unique_ptr<MarksReader> reader(new MarksReader(std::move(log), regions));
    JOULESCALE_TRY(reader->load());
    return reader;
  }

  /// Of the mark at hand; nothing at the end.
  std::optional<Nanoseconds> time() const { return time_; }
  /// Takes the mark at hand, at which the node had used `energy`, and reads on to the next.
  Result<void> take(Nanoseconds time, const NodeJoules& energy, Nanoseconds resolution);

  /// Of some region, after the mark taken last.
  bool is_inside() const { return !open_.empty(); }

  std::optional<std::uint32_t> rank;
  std::optional<std::uint64_t> samples;
  std::optional<std::uint64_t> updates;
  std::vector<std::string> training;

 private:
  MarksReader(FrameReader log, Regions& regions) : log_(std::move(log)), regions_(regions) {}

  Result<void> load();
  /// True for the begin or end of a region.
  bool read_frame();
  void count(MarkCounter counter, std::uint64_t increment);

  FrameReader log_;
  Regions& regions_;
  std::map<std::uint32_t, RegionTotals*> region_of_id_;
  std::map<std::uint32_t, OpenRegion> open_;
  Nanoseconds last_time_{0};
  std::optional<Nanoseconds> time_;
  std::optional<std::uint32_t> region_;  // of the mark at hand; nothing at the end of the file
  bool is_begin_ = false;
};

Result<void> MarksReader::load() {
  time_.reset();
  region_.reset();
  while (true) {
    JOULESCALE_TRY_ASSIGN(const bool more, log_.next());
    if (!more) {
      break;
    }
    if (read_frame()) {
      return {};
    }
  }
  if (!open_.empty()) {  // regions that were never left end with the file
    time_ = last_time_;
  }
  return {};
}

bool MarksReader::read_frame() {
  PayloadReader reader(log_.payload());
  switch (static_cast<MarkType>(log_.type())) {
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
        time_ = time;
        region_ = id;
        is_begin_ = log_.type() == static_cast<std::uint8_t>(MarkType::kBegin);
        return true;
      }
      break;
    }
    case MarkType::kCounter: {
      const auto counter = static_cast<MarkCounter>(reader.u8());
      const std::uint64_t increment = reader.u64();
      const Nanoseconds time(reader.i64());
      if (reader.ok()) {
        last_time_ = std::max(last_time_, time);
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
  return false;
}

void add_visit(const OpenRegion& visit,
               Nanoseconds to,
               const NodeJoules& energy,
               Nanoseconds resolution_here,
               RegionTotals& totals) {
  ++totals.count;
  if (to <= visit.begin) {
    return;
  }
  const Seconds duration = to_seconds(to - visit.begin);
  totals.duration += duration;
  const Joules measured = energy.measured - visit.at_begin.measured;
  totals.measured += measured;
  totals.estimated += energy.estimated - visit.at_begin.estimated;
  // Within the timeline's resolution the power may be anything from nothing to twice the mean.
  const Nanoseconds resolution = std::max(visit.resolution, resolution_here);
  const double unresolved = to_seconds(resolution) / duration / 2.0;
  totals.uncertainty += measured * std::min(1.0, unresolved);
}

Result<void> MarksReader::take(Nanoseconds time, const NodeJoules& energy, Nanoseconds resolution) {
  if (!region_) {
    for (const auto& [id, region] : open_) {
      add_visit(region, time, energy, resolution, *region_of_id_[id]);
    }
    open_.clear();
    time_.reset();
    return {};
  }
  RegionTotals& totals = *region_of_id_[*region_];
  if (is_begin_) {
    totals.top_level = totals.top_level || open_.empty();
    OpenRegion& region = open_[*region_];
    if (region.depth++ == 0) {
      region.begin = time;
      region.at_begin = energy;
      region.resolution = resolution;
    }
  } else if (const auto region = open_.find(*region_);
             region != open_.end() && --region->second.depth == 0) {
    add_visit(region->second, time, energy, resolution, totals);
    open_.erase(region);
  }
  return load();
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
  std::size_t writers = 0;  // that were inside of regions at one time
  bool has_training = false;

  int sharers() const {
    return static_cast<int>(std::max({std::size_t{1}, ranks.size(), writers}));
  }
};

void add_file(const MarksReader& file, NodeMarks& node, MarksSummary& summary) {
  if (file.rank) {
    node.ranks.insert(*file.rank);
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

void add_regions(const NodeMarks& node, const EnergyTimeline* timeline, MarksSummary& summary) {
  const double share = 1.0 / node.sharers();
  for (const auto& [name, totals] : node.regions) {
    RegionRecord region;
    region.name = name;
    region.count = totals.count;
    region.duration = totals.duration;
    PhaseRecord phase;
    phase.duration = totals.duration;
    if (timeline != nullptr && timeline->has_measured()) {
      region.energy = phase.energy = totals.measured * share;
      region.uncertainty = phase.uncertainty = totals.uncertainty * share;
    }
    if (timeline != nullptr && timeline->has_estimated()) {
      region.estimated = phase.estimated = totals.estimated * share;
    }
    if (node.has_training && totals.top_level) {
      summary.training->phases[name] = phase;
    }
    summary.regions.push_back(std::move(region));
  }
}

/// Takes all marks in the order of time. The most files that had a region open at one time.
std::size_t take_marks(std::vector<std::unique_ptr<MarksReader>>& files,
                       EnergyTimeline* timeline,
                       Nanoseconds begin,
                       Nanoseconds end,
                       MarksSummary& summary) {
  std::size_t inside = 0;
  std::size_t most = 0;
  Nanoseconds last{0};
  while (true) {
    MarksReader* next = nullptr;
    for (const auto& file : files) {
      if (file->time() && (next == nullptr || *file->time() < *next->time())) {
        next = file.get();
      }
    }
    if (next == nullptr) {
      return most;
    }
    if (*next->time() > last) {  // one that ends as another begins makes no two
      most = std::max(most, inside);
      last = *next->time();
    }
    const Nanoseconds time = std::clamp(*next->time(), begin, end);
    const NodeJoules energy = timeline == nullptr ? NodeJoules() : timeline->at(time);
    const Nanoseconds resolution = timeline == nullptr ? Nanoseconds(0) : timeline->resolution();
    inside -= next->is_inside() ? 1U : 0U;
    if (const auto taken = next->take(time, energy, resolution); !taken) {
      summary.notes.push_back(taken.error().text());
    }
    inside += next->is_inside() ? 1U : 0U;
  }
}

}  // namespace

MarksSummary summarise_marks(const std::filesystem::path& directory,
                             EnergyTimeline* timeline,
                             Nanoseconds begin,
                             Nanoseconds end) {
  MarksSummary summary;
  NodeMarks node;
  std::error_code error;
  std::set<std::filesystem::path> paths;  // in a fixed order
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.path().extension() == kMarksSuffix) {
      paths.insert(entry.path());
    }
  }
  std::vector<std::unique_ptr<MarksReader>> files;
  for (const std::filesystem::path& path : paths) {
    auto file = MarksReader::open(path, node.regions);
    if (file) {
      files.push_back(std::move(file).value());
    } else {
      summary.notes.push_back(file.error().text());
    }
  }
  node.writers = take_marks(files, timeline, begin, end, summary);
  for (const auto& file : files) {
    add_file(*file, node, summary);
  }
  if (timeline != nullptr && timeline->failed()) {
    timeline = nullptr;
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
  add_regions(node, timeline, summary);
  return summary;
}

}  // namespace joulescale
