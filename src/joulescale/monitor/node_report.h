// SPDX-License-Identifier: Apache-2.0
// What one node adds to a run: nodes/<node>/node.json. Together with launch.json it is all that
// merging needs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "joulescale/base/error.h"
#include "joulescale/record/run_record.h"

namespace joulescale {

inline constexpr std::string_view kNodeSchema = "joulescale.node/1";

/// Energy of one overlap group of one domain: a CPU package, a GPU.
struct GroupEnergy {
  std::string group;      // "package-0", "GPU-<uuid>"; GPUs are counted once in a run by it
  std::string component;  // "cpu", "gpu"...: the key in run.json
  bool counted = false;   // part of the total
  ComponentEnergy energy;
  std::optional<BaselinePower> idle;  // in the node's baseline
};

struct NodeReport {
  std::string identity;  // SLURMD_NODENAME, else the kernel's boot id
  std::vector<GroupEnergy> groups;
  std::vector<std::string> gpus;  // UUIDs that the command may use
  int registered_ranks = 0;       // through marks
  /// The rest in run.json's own words: duration, ranks, sources, regions, hardware, power,
  /// overhead, flags, training, nodes[0].host, and of the baseline what is no power or energy.
  RunRecord part;
};

/// The node's host name, or what identifies it where that is not known.
std::string host_of(const NodeReport& report);

std::string format_node_report(const NodeReport& report);
/// Errors (kCorruptData) name the key.
Result<NodeReport> parse_node_report(std::string_view text);

}  // namespace joulescale
