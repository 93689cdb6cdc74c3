// SPDX-License-Identifier: Apache-2.0
// The catalogue: an SQLite index of a study's runs, for people who like SQL. It is made from the
// run directories and can be made again at any time; nothing is in it alone.
//
// The file is built in memory and put in place as a whole, and read as a whole: no lock, no journal
// and no write-ahead log ever lies on a network file system, and a reader never sees half of it.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "joulescale/base/error.h"
#include "joulescale/store/run_directories.h"

namespace joulescale {

/// Stored in the file's user_version.
inline constexpr int kCatalogueVersion = 1;

/// Writes (or replaces) a catalogue of these runs.
Result<void> write_catalogue(const std::filesystem::path& file, std::span<const StoredRun> runs);

/// The runs of a catalogue. Errors: kInvalidArgument for a file that is no catalogue, kCorruptData
/// for a damaged or truncated one, kUnsupported for one of a newer version.
Result<std::vector<StoredRun>> read_catalogue(const std::filesystem::path& file);

}  // namespace joulescale
