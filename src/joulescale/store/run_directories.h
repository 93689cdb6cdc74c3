// SPDX-License-Identifier: Apache-2.0
// Run directories on disk: the truth from which catalogues are made.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "joulescale/base/error.h"
#include "joulescale/record/run_record.h"

namespace joulescale {

inline constexpr const char* kRunFile = "run.json";
/// Below a study directory: run directories, and the study record of each run (<run>.json) as the
/// sweep gave it to the monitor. A run that later became part of further series has them there.
inline constexpr const char* kRunsFolder = "runs";
inline constexpr const char* kStudyRecordsFolder = "study";
inline constexpr const char* kCatalogueFile = "catalogue.sqlite";

struct StoredRun {
  std::string directory;  // relative to the study directory ("runs/g1-lbs64-gbs64-r0"), or a path
  std::string json;       // the record as text
  RunRecord record;
};

struct StoredRuns {
  std::vector<StoredRun> runs;        // ordered as LoadedRuns::runs, no id twice
  std::vector<std::string> problems;  // one line each
};

/// Directories with a runs/ folder in them are study directories.
bool is_study_directory(const std::filesystem::path& directory);

/// The directories, sorted, among which read_run_directories() looks for runs: those in the runs/
/// folder of a study directory, else those in `directory`. Hidden ones are none of them.
std::vector<std::filesystem::path> run_directories_below(const std::filesystem::path& directory,
                                                         std::vector<std::string>& problems);

/// Every run of a study directory, of a directory of run directories, or of one run directory.
/// Unreadable ones are problems, not errors.
StoredRuns read_run_directories(const std::filesystem::path& directory);

/// An axis of the run's study, if it has it as an integer.
std::optional<std::int64_t> integer_axis(const RunRecord& run, std::string_view name);

/// Puts runs in their order and moves runs whose id is there already to the problems.
void order_runs(StoredRuns& stored);

}  // namespace joulescale
