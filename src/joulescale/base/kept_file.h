// SPDX-License-Identifier: Apache-2.0
// A small file that is read again and again: a counter in sysfs.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <span>

#include "joulescale/base/clock.h"
#include "joulescale/base/unique_fd.h"

namespace joulescale {

/// Keeps the file open between reads, which costs a third of opening it each time, and yet never
/// goes on with a file that is no longer the one of that name: one that was removed or replaced is
/// noticed at the next read, one whose directory was moved aside within a second. Not thread safe.
class KeptFile {
 public:
  explicit KeptFile(std::filesystem::path path) : path_(std::move(path)) {}

  /// The first bytes of the file as of now, as pread() would give them; -1 with errno. `now`:
  /// monotonic. Does not allocate.
  ssize_t read(std::span<char> buffer, Nanoseconds now) noexcept;

 private:
  bool open(Nanoseconds now) noexcept;
  bool is_removed() const noexcept;

  std::filesystem::path path_;
  UniqueFd fd_;
  Nanoseconds opened_{0};
};

}  // namespace joulescale
