// SPDX-License-Identifier: Apache-2.0
// What the processes of a node told through their marks: regions with their energy, counters,
// ranks, and the training's own record.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "joulescale/base/error.h"
#include "joulescale/monitor/energy_timeline.h"
#include "joulescale/record/run_record.h"

namespace joulescale {

struct MarksSummary {
  std::vector<RegionRecord> regions;     // by name
  int registered_ranks = 0;              // different rank numbers of kRank frames
  std::optional<std::uint64_t> samples;  // summed over processes
  std::optional<std::uint64_t> updates;  // the most of any process: each rank counts each step
  /// Merged from all kTraining frames; with phases, once a process sent one.
  std::optional<TrainingRecord> training;
  std::vector<std::string> notes;  // files that could not be read
};

/// Summarises the *.marks files of `directory`, all of them at once in the order of time, in memory
/// that does not grow with them. A region's energy is the node's between its begin and end, clipped
/// to the run, divided by the writers that share the node: the registered ranks, or the most files
/// that had a region open at one time if they are more. So regions that do not lie in each other
/// never exceed the node's energy, over all ranks and threads. Visits of a region inside itself
/// count once. Without a timeline regions have no energy. A missing directory is an empty summary.
MarksSummary summarise_marks(const std::filesystem::path& directory,
                             EnergyTimeline* timeline,
                             Nanoseconds begin,
                             Nanoseconds end);

}  // namespace joulescale
