// SPDX-License-Identifier: Apache-2.0
// Finds and reads the records of finished runs, wherever they lie.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "joulescale/base/error.h"
#include "joulescale/record/run_record.h"

namespace joulescale {

struct LoadedRuns {
  /// Ordered by study, devices, local and global batch size, accumulation, repetition, start and
  /// id: the same runs come in the same order from directories and from a catalogue. Failed runs
  /// are among them: ask succeeded() before using figures.
  std::vector<RunRecord> runs;
  /// One line each: a run that is not finished, cannot be read, or is there twice.
  std::vector<std::string> problems;
};

/// `source` is one of
///   a study directory (runs/*/run.json below it),
///   one run directory (run.json in it), or that run.json itself,
///   a directory of run directories,
///   a catalogue (SQLite file); a damaged one is replaced by the run directories beside it.
/// An error (kInvalidArgument) when the source is none of these or holds no readable run. Nothing
/// is written.
Result<LoadedRuns> load_runs(const std::filesystem::path& source);

}  // namespace joulescale
