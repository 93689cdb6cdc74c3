// SPDX-License-Identifier: Apache-2.0
#include "joulescale/base/kept_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace joulescale {
namespace {

constexpr Nanoseconds kLongestKept = std::chrono::seconds(1);

}  // namespace

bool KeptFile::open(Nanoseconds now) noexcept {
  // Without waiting: what stands there may be a pipe without a writer.
  fd_.reset(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  opened_ = now;
  return fd_.valid();
}

bool KeptFile::is_removed() const noexcept {
  struct stat status{};
  return ::fstat(fd_.get(), &status) != 0 || status.st_nlink == 0;
}

ssize_t KeptFile::read(std::span<char> buffer, Nanoseconds now) noexcept {
  const bool is_fresh = !fd_.valid() || now - opened_ >= kLongestKept;
  if (is_fresh && !open(now)) {
    return -1;
  }
  ssize_t count = ::pread(fd_.get(), buffer.data(), buffer.size(), 0);
  if (!is_fresh && (count < 0 || is_removed())) {
    if (!open(now)) {
      return -1;
    }
    count = ::pread(fd_.get(), buffer.data(), buffer.size(), 0);
  }
  return count;
}

}  // namespace joulescale
