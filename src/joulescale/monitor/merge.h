// SPDX-License-Identifier: Apache-2.0
// The nodes' reports into the record of the run: a pure function of launch.json and the node.json
// files (whose regions come from the marks), so that anyone may repeat it at any time.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "joulescale/base/error.h"
#include "joulescale/monitor/launch.h"
#include "joulescale/monitor/node_report.h"
#include "joulescale/record/run_record.h"

namespace joulescale {

/// Each GPU (by UUID) counts once, whatever number of nodes' reports hold it, and every other
/// source once a node.
RunRecord merge_run(const LaunchInfo& launch, std::span<const NodeReport> nodes);

/// What to do about ranks that told nothing.
enum class Missing {
  kRefused,  // the launch is not finished: an error (kUnavailable)
  kAllowed,  // merge the others; the run is flagged `recovered`
};

struct FinishedRun {
  RunRecord record;
  bool was_new = false;  // this call put run.json there, no other one did before
};

/// Merges a run directory and puts run.json in place, whole or not at all. An error if a file is
/// damaged, or no node has a report.
Result<FinishedRun> finish_run(const std::filesystem::path& path,
                               Missing missing = Missing::kRefused);

}  // namespace joulescale
