// SPDX-License-Identifier: Apache-2.0
// Speed-up and parallel efficiency within a series, against its configuration with the fewest
// devices. The speed-up is the ratio of training throughputs (samples per second), so it serves
// series with a constant and with a growing data set alike; with the same samples it is T_ref / T.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "joulescale/analysis/study_analysis.h"

namespace joulescale {

struct ScalingPoint {
  std::size_t configuration = 0;  // index into StudyAnalysis::configurations
  std::size_t reference = 0;      // likewise
  std::optional<double> speedup;
  std::optional<double> efficiency;    // speedup / (devices / reference devices)
  std::optional<double> energy_ratio;  // energy per sample against the reference's
};

/// One point a configuration of the group, in the group's order. Values are absent where runtime,
/// samples or energy are not known, or where energies are not comparable.
std::vector<ScalingPoint> scaling_of(const StudyAnalysis& analysis, const Group& group);

}  // namespace joulescale
