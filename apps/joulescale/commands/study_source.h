// SPDX-License-Identifier: Apache-2.0
// What `report` and `analyze` read: a study or run directory, a directory of runs, a catalogue, or
// a CSV file of run summaries.
#pragma once

#include <filesystem>

#include "joulescale/base/error.h"
#include "joulescale/report/study_tables.h"

namespace joulescale {

/// Reads and analyses `source`. An error when nothing can be read (exit status 2) or no run is
/// complete (exit status 1).
Result<StudyReport> load_study(const std::filesystem::path& source, const AnalysisOptions& options);

}  // namespace joulescale
