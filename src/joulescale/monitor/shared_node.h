// SPDX-License-Identifier: Apache-2.0
// Whether other programs used the node beside the launch: the node's energy then holds theirs.
#pragma once

#include <cstddef>
#include <span>

#include "joulescale/base/units.h"
#include "joulescale/record/run_record.h"

namespace joulescale {

/// True if the node's busy CPU time exceeds that of its ranks' processes and monitors by more than
/// a tenth and by half a core on average. False where the times do not tell: a rank without its
/// own, or less than a second between the readings.
bool is_shared_node(std::span<const MetricRecord> metrics, std::size_t num_ranks, Seconds overhead);

}  // namespace joulescale
