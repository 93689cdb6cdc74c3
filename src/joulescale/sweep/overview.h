// SPDX-License-Identifier: Apache-2.0
// Tables and JSON of a study's plan and state.
#pragma once

#include <string>

#include "joulescale/config/study_spec.h"
#include "joulescale/sweep/study_directory.h"

namespace joulescale {

/// The runs in their order; those that are done in `directory` already are marked.
std::string plan_as_table(const StudySpec& spec, const StudyDirectory& directory);
/// Object with "runs" (with the command of each), "merged" and "num_runs".
std::string plan_as_json(const StudySpec& spec, const StudyDirectory& directory);

std::string status_as_table(const StudySpec& spec, const StudyDirectory& directory);
/// Object with "runs", "counts" (number of runs by state) and "running" (a sweep works on it now).
std::string status_as_json(const StudySpec& spec, const StudyDirectory& directory);

}  // namespace joulescale
