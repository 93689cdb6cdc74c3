// SPDX-License-Identifier: Apache-2.0
#include "joulescale/base/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include <fmt/format.h>

#include "joulescale/base/unique_fd.h"

namespace joulescale {

Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit_bytes) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) {
    return io_error("open", path.native(), errno);
  }
  std::string content;
  std::array<char, 65536> buffer;
  while (true) {
    const ssize_t count = ::read(fd.get(), buffer.data(), buffer.size());
    if (count < 0) {
      if (errno == EINTR) {
        continue;
      }
      return io_error("read", path.native(), errno);
    }
    if (count == 0) {
      return content;
    }
    if (content.size() + static_cast<std::size_t>(count) > limit_bytes) {
      return Error(ErrorCode::kCorruptData,
                   fmt::format("'{}' is larger than {} bytes", path.native(), limit_bytes));
    }
    content.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

Result<void> write_all(int fd, std::string_view content, std::string_view name) {
  while (!content.empty()) {
    const ssize_t count = ::write(fd, content.data(), content.size());
    if (count < 0) {
      if (errno == EINTR) {
        continue;
      }
      return io_error("write", name, errno);
    }
    content.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

Result<void> write_file_atomic(const std::filesystem::path& path,
                               std::string_view content,
                               mode_t mode) {
  const std::filesystem::path directory = path.has_parent_path() ? path.parent_path() : ".";
  const std::filesystem::path temporary =
      directory / fmt::format(".{}.{}.tmp", path.filename().native(), ::getpid());
  const auto fail = [&](Error error) {
    ::unlink(temporary.c_str());
    return error;
  };
  {
    const UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
    if (!fd.valid()) {
      return io_error("write", path.native(), errno);
    }
    if (auto written = write_all(fd.get(), content, path.native()); !written) {
      return fail(std::move(written).error());
    }
    if (::fsync(fd.get()) != 0) {
      return fail(io_error("write", path.native(), errno));
    }
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    return fail(io_error("put in place", path.native(), errno));
  }
  const UniqueFd directory_fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory_fd.valid()) {
    ::fsync(directory_fd.get());  // a file system that cannot sync a directory still holds the file
  }
  return {};
}

}  // namespace joulescale
