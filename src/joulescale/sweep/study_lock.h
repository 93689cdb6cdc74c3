// SPDX-License-Identifier: Apache-2.0
// One writer a study directory.
#pragma once

#include <filesystem>

#include "joulescale/base/clock.h"
#include "joulescale/base/error.h"
#include "joulescale/base/unique_fd.h"

namespace joulescale {

/// Takes the lock file (flock) and writes who holds it. Children of the holder hold it with him
/// until they execute another program. When the holder that the file names is dead, waits up to
/// `patience` for such children. Errors (kInvalidArgument) name the holder.
Result<UniqueFd> lock_study(const std::filesystem::path& file, Nanoseconds patience);

/// Whether somebody holds the lock.
bool is_locked(const std::filesystem::path& file);

}  // namespace joulescale
