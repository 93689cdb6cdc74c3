// SPDX-License-Identifier: Apache-2.0
// The end of a node: out of what its ranks told, their journals and the marks comes
// nodes/<node>/node.json. Anyone may do it, again and again, with the same result.
#pragma once

#include <string>
#include <vector>

#include "joulescale/base/error.h"
#include "joulescale/monitor/launch.h"
#include "joulescale/monitor/node_meter.h"
#include "joulescale/monitor/rank_record.h"

namespace joulescale {

/// The records of the ranks that ran on a node (all nodes if `node_directory` is empty), by rank.
/// Ranks that are claimed and told nothing yet are left out.
Result<std::vector<RankRecordFile>> read_rank_records(const RunDirectory& directory,
                                                      const std::string& node_directory);

/// What the only monitor of a node measured itself, as it read nothing that another one read.
struct LiveMeter {
  NodeMeter& meter;  // used up
  bool journal_is_whole = true;
  NodeMeter* idle = nullptr;  // up to the command's start, with a baseline; used up
};

/// The node's report. `ranks`: those of read_rank_records(), each with its end; at least one.
/// Without `live` the totals come out of the journals. Peak power and the energy of regions always
/// do: a journal that is not whole gives none. So does the baseline, with `live` as its second.
/// Errors: a journal cannot be read.
Result<NodeReport> make_node_report(const LaunchInfo& launch,
                                    const NodeDirectory& node,
                                    const std::vector<RankRecordFile>& ranks,
                                    LiveMeter* live,
                                    std::vector<std::string>& notes);

}  // namespace joulescale
