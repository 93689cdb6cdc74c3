// SPDX-License-Identifier: Apache-2.0
// Whole-file reads and crash-safe whole-file writes.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "joulescale/base/error.h"

namespace joulescale {

inline constexpr std::size_t kDefaultReadLimit = std::size_t{256} << 20;

/// The bytes of a regular or virtual (procfs, sysfs) file. A file above `limit_bytes` is an error.
Result<std::string> read_file(const std::filesystem::path& path,
                              std::size_t limit_bytes = kDefaultReadLimit);

/// The text of a small file (at most 4 KiB, as sysfs and procfs have them) without the blanks and
/// line ends around it; nothing if it cannot be read.
std::optional<std::string> read_small_file(const std::filesystem::path& path);

/// The first bytes of a file, in `buffer`; empty if it cannot be read. For files of procfs that are
/// read again and again: does not allocate.
std::string_view read_start(const char* path, std::span<char> buffer) noexcept;

/// The path of this program's own file.
Result<std::filesystem::path> own_program();

/// What of a file survives the failure of the node itself. A sync can take long on a busy disk.
enum class Durability {
  kNow,    // the whole file, when the call returns
  kWhole,  // the whole file or none: the name may be lost in the next seconds
  kLater,  // anything, until sync_file() was called
};

/// Puts `content` in place of the file as a whole or not at all: written beside, fsync (not with
/// kLater), rename, and with kNow the directory's fsync. A link is followed; a device, pipe or
/// directory is refused. `mode` holds before the umask.
Result<void> write_file_atomic(const std::filesystem::path& path,
                               std::string_view content,
                               mode_t mode = 0644,
                               Durability durability = Durability::kNow);

/// The same for a file that must not be there yet: false, and nothing changed, if it is. Of several
/// processes, on one node or on many, one succeeds.
Result<bool> create_file_atomic(const std::filesystem::path& path,
                                std::string_view content,
                                mode_t mode = 0644,
                                Durability durability = Durability::kNow);

/// fsync of the file and its directory. A failure is left to those who read the file.
void sync_file(const std::filesystem::path& path);

/// write(2) until all is written; EINTR is retried. `name` stands in the error.
Result<void> write_all(int fd, std::string_view content, std::string_view name);

}  // namespace joulescale
