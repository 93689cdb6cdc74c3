// SPDX-License-Identifier: Apache-2.0
// Whole-file reads and crash-safe whole-file writes.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "joulescale/base/error.h"

namespace joulescale {

inline constexpr std::size_t kDefaultReadLimit = std::size_t{256} << 20;

/// The bytes of a regular or virtual (procfs, sysfs) file. A file above `limit_bytes` is an error.
Result<std::string> read_file(const std::filesystem::path& path,
                              std::size_t limit_bytes = kDefaultReadLimit);

/// Puts `content` in place of the file as a whole or not at all: written beside, fsync, rename, and
/// the directory's fsync. A link is followed; a device, pipe or directory is refused. `mode` holds
/// before the umask.
Result<void> write_file_atomic(const std::filesystem::path& path,
                               std::string_view content,
                               mode_t mode = 0644);

/// The same for a file that must not be there yet: false, and nothing changed, if it is. Of several
/// processes, on one node or on many, one succeeds.
Result<bool> create_file_atomic(const std::filesystem::path& path,
                                std::string_view content,
                                mode_t mode = 0644);

/// write(2) until all is written; EINTR is retried. `name` stands in the error.
Result<void> write_all(int fd, std::string_view content, std::string_view name);

}  // namespace joulescale
