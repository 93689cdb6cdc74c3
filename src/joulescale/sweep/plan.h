// SPDX-License-Identifier: Apache-2.0
// From a study to its runs: each distinct configuration once a repetition, whatever the number of
// series that it belongs to. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "joulescale/config/study_spec.h"
#include "joulescale/record/run_record.h"

namespace joulescale {

struct PlannedRun {
  std::string name;  // "g2-lbs64-gbs128-r0", with "-acc4" before "-gbs" unless 1
  Configuration configuration;
  std::int64_t repetition = 0;  // from 0
  std::int64_t seed = 0;
  std::string series;                    // the first series that has it
  std::vector<std::string> more_series;  // the others
};

struct Plan {
  /// Repetition by repetition, so that an unfinished study has every configuration early.
  std::vector<PlannedRun> runs;
  /// One line for each configuration of a series that another series has too.
  std::vector<std::string> merged;
};

Plan make_plan(const StudySpec& spec);

/// What run.json says about the run: name, series, repetition and axes.
StudyRecord study_record(const StudySpec& spec, const PlannedRun& run);

/// Where the study's own files for a run are, as absolute paths.
struct RunPaths {
  std::string run_directory;
  std::string study_record;
};

/// The command line of the workload alone: options of joulescale-train, or the study's command with
/// its placeholders replaced.
std::vector<std::string> workload_arguments(const StudySpec& spec,
                                            const PlannedRun& run,
                                            const RunPaths& paths);

/// The whole command line of a measured run. `program`: the path of joulescale.
std::vector<std::string> run_command(const StudySpec& spec,
                                     const PlannedRun& run,
                                     const RunPaths& paths,
                                     const std::string& program);

/// What makes `next` another study than `previous`, as a reason to refuse it; "" when it only adds
/// runs or series.
std::string incompatible_change(const StudySpec& previous, const StudySpec& next);

}  // namespace joulescale
