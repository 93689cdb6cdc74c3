// SPDX-License-Identifier: Apache-2.0
// Runs what is left of a study, one run after another.
#pragma once

#include <filesystem>

#include "joulescale/base/error.h"
#include "joulescale/config/study_spec.h"

namespace joulescale {

struct SweepRequest {
  std::filesystem::path study_file;  // the file as the user gave it, or the copy in the directory
  std::filesystem::path directory;
  bool quiet = false;  // only problems on stderr
};

/// Makes the study directory, or goes on in it, and returns the exit status: 0 when every run is
/// done, 1 when some failed (they are named on stderr), 128 + N when signal N stopped it. Errors
/// are about what keeps it from starting: exit status 2, nothing made or changed.
Result<int> run_sweep(const SweepRequest& request);

}  // namespace joulescale
