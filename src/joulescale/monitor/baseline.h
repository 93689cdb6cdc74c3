// SPDX-License-Identifier: Apache-2.0
// The idle baseline (monitor --baseline): the power of each source from when a node's first monitor
// began to watch the idle node until the node's first command was started.
#pragma once

#include <optional>
#include <span>

#include "joulescale/base/clock.h"
#include "joulescale/monitor/node_meter.h"
#include "joulescale/monitor/node_report.h"
#include "joulescale/monitor/rank_record.h"
#include "joulescale/record/run_record.h"

namespace joulescale {

struct BaselineWindow {
  Nanoseconds begin{0};
  Nanoseconds end{0};
};

/// Of one node's ranks; nothing if none of them has a baseline and a command.
std::optional<BaselineWindow> baseline_window(std::span<const RankRecordFile> ranks);

/// Whether it is long enough to tell a power. It is too short where another rank's command was
/// started meanwhile.
bool is_usable(const BaselineWindow& window);

/// Adds a node's baseline to its report, whose groups are there. `idle`: the energies of the
/// window; nothing if they are not known.
void add_node_baseline(const BaselineWindow& window,
                       const NodeEnergy* idle,
                       std::span<const RankRecordFile> ranks,
                       NodeReport& report);

/// A source of a node that is in the run's components, each once.
struct CountedGroup {
  const NodeReport* report = nullptr;
  const GroupEnergy* group = nullptr;
};

/// Sums the nodes' baselines into the run, whose energy is there. A sum is there only if every part
/// of it is.
void add_run_baseline(std::span<const NodeReport> nodes,
                      std::span<const CountedGroup> groups,
                      RunRecord& run);

}  // namespace joulescale
