// SPDX-License-Identifier: Apache-2.0
// Finishes run records whose monitors were killed before they could, out of what they left: rank
// records, journals and marks.
#pragma once

#include <filesystem>
#include <optional>
#include <span>

#include "joulescale/base/error.h"
#include "joulescale/record/run_record.h"

namespace joulescale {

/// Finishes the launch in the run directory `path`: ranks without an end end at their journal's
/// last reading and have no exit status; the run is flagged `recovered`. A launch that is finished
/// stays as it is (its run.json is written again, the same). Errors: a rank still runs, nothing can
/// be read.
Result<RunRecord> recover_run(const std::filesystem::path& path);

/// The same for whoever comes across an unfinished launch without being asked to finish it, and so
/// only if nothing of it can go on: no monitor runs, on other nodes no journal has changed for ten
/// minutes, nor has anything where ranks have not come yet. Nothing: it may go on, has nothing to
/// finish, or is finished.
Result<std::optional<RunRecord>> finish_killed_run(const std::filesystem::path& path);

/// Merges the directories of one launch that lie on different file systems, each finished first,
/// into `output`, which must not be there or be empty.
Result<RunRecord> recover_merged(std::span<const std::filesystem::path> directories,
                                 const std::filesystem::path& output);

}  // namespace joulescale
