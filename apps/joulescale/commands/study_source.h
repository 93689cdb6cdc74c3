// SPDX-License-Identifier: Apache-2.0
// What `report` and `analyze` read: a study or run directory, a directory of runs, a catalogue, or
// a CSV file of run summaries.
#pragma once

#include <string>

#include "joulescale/base/error.h"
#include "joulescale/report/study_tables.h"

namespace CLI {
class App;
}

namespace joulescale {

/// The options that `report` and `analyze` share.
struct StudySourceOptions {
  std::string source;
  bool quiet = false;
  AnalysisOptions analysis;
};

/// Declares SOURCE. `options` must outlive the command's parsing, as for add_study_flags().
void add_study_source(CLI::App& command, StudySourceOptions& options);

/// Declares --allow-mixed-totals and --quiet.
void add_study_flags(CLI::App& command, StudySourceOptions& options);

/// Reads and analyses the source; unless quiet, says on stderr which runs are left out. An error
/// when nothing can be read (exit status 2) or no run is complete (exit status 1).
Result<StudyReport> load_study(const CLI::App& command, const StudySourceOptions& options);

}  // namespace joulescale
