// SPDX-License-Identifier: Apache-2.0
// run.json to RunRecord and back.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "joulescale/base/error.h"
#include "joulescale/record/run_record.h"

namespace joulescale {

/// Indented JSON, strict (no NaN, no Infinity: such a value is absent), valid UTF-8, ending in a
/// line end.
std::string format_run_record(const RunRecord& run);

/// Errors (kCorruptData) name the key. Keys that this version does not know are ignored.
Result<RunRecord> parse_run_record(std::string_view text);

/// parse_run_record() of a file; errors name the file.
Result<RunRecord> read_run_record(const std::filesystem::path& file);

/// The `study` and `training` objects alone, as launch.json and marks hold them.
std::string format_study_record(const StudyRecord& study);
Result<StudyRecord> parse_study_record(std::string_view text);
std::string format_training_record(const TrainingRecord& training);
Result<TrainingRecord> parse_training_record(std::string_view text);

}  // namespace joulescale
