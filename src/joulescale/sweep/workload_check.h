// SPDX-License-Identifier: Apache-2.0
// Finds out before the first run whether the workload can start at all.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "joulescale/base/error.h"
#include "joulescale/config/study_spec.h"
#include "joulescale/sweep/plan.h"

namespace joulescale {

/// The path of joulescale-train, which lies beside this program. An error (kUnavailable) says how
/// to build it.
Result<std::filesystem::path> find_trainer();

/// Asks `joulescale-train check` about options of a run on `ranks` ranks. Errors (kConfig) carry
/// its line.
Result<void> check_trainer_options(const std::filesystem::path& trainer,
                                   const std::vector<std::string>& options,
                                   std::int64_t ranks,
                                   const std::filesystem::path& working_directory);

/// Checks each distinct configuration of `runs` once. Errors (kConfig) name the study file and
/// line.
Result<void> check_workload(const StudySpec& spec,
                            const std::vector<PlannedRun>& runs,
                            const std::filesystem::path& study_file,
                            const std::filesystem::path& working_directory);

}  // namespace joulescale
