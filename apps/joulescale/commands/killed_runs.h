// SPDX-License-Identifier: Apache-2.0
// Finishes the records of runs whose monitors were killed before a command reads them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace joulescale {

/// Looks at the run directories of `source` (a run directory or its run.json, a study directory, a
/// directory of run directories) that have no run.json. Returns one line for each that was finished
/// or that could not be; a run that may still go on is passed over.
std::vector<std::string> finish_killed_runs(const std::filesystem::path& source);

}  // namespace joulescale
