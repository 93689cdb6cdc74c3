// SPDX-License-Identifier: Apache-2.0
#include "joulescale/base/file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <functional>

#include <fmt/format.h>

#include "joulescale/base/text.h"
#include "joulescale/base/unique_fd.h"

namespace joulescale {

Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit_bytes) {
  // Opened without waiting: a named pipe has no end.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) {
    return io_error("open", path.native(), errno);
  }
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0 || (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("'{}' is not a regular file", path.native()));
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

std::optional<std::string> read_small_file(const std::filesystem::path& path) {
  constexpr std::size_t kSmall = 4096;
  const auto text = read_file(path, kSmall);
  return text ? std::optional(std::string(trim(*text))) : std::nullopt;
}

std::string_view read_start(const char* path, std::span<char> buffer) noexcept {
  const UniqueFd fd(::open(path, O_RDONLY | O_CLOEXEC));
  const ssize_t count = fd.valid() ? ::read(fd.get(), buffer.data(), buffer.size()) : 0;
  return {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
}

Result<std::filesystem::path> own_program() {
  std::error_code code;
  std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", code);
  if (code) {
    return io_error("read", "/proc/self/exe", code.value());
  }
  return program;
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

namespace {

std::filesystem::path directory_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

/// A name beside `path` that no other process uses, on this node or on another.
std::filesystem::path temporary_beside(const std::filesystem::path& path) {
  std::uint64_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != static_cast<ssize_t>(sizeof random)) {
    random = static_cast<std::uint64_t>(::getpid());
  }
  return directory_of(path) / fmt::format(".{}.{:016x}.tmp", path.filename().native(), random);
}

void sync_directory(const std::filesystem::path& directory) {
  const UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.valid()) {
    ::fsync(fd.get());  // a file system that cannot sync a directory still holds the file
  }
}

/// Writes `content` beside `path`, then has `place(temporary)` (which sets errno) put it there.
Result<void> write_and_place(const std::filesystem::path& path,
                             std::string_view content,
                             mode_t mode,
                             Durability durability,
                             const std::function<int(const char* temporary)>& place) {
  const std::filesystem::path temporary = temporary_beside(path);
  const auto fail = [&](Error error) {
    ::unlink(temporary.c_str());
    return error;
  };
  {
    const UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (!fd.valid()) {
      return io_error("write", path.native(), errno);
    }
    if (auto written = write_all(fd.get(), content, path.native()); !written) {
      return fail(std::move(written).error());
    }
    if (durability != Durability::kLater && ::fsync(fd.get()) != 0) {
      return fail(io_error("write", path.native(), errno));
    }
  }
  if (place(temporary.c_str()) != 0) {
    return fail(io_error("put in place", path.native(), errno));
  }
  if (durability == Durability::kNow) {
    sync_directory(directory_of(path));
  }
  return {};
}

}  // namespace

Result<void> write_file_atomic(const std::filesystem::path& path,
                               std::string_view content,
                               mode_t mode,
                               Durability durability) {
  std::error_code error;
  std::filesystem::path target = path;
  if (std::filesystem::is_symlink(path, error)) {
    target = std::filesystem::weakly_canonical(path, error);
  }
  const auto type = std::filesystem::status(target, error).type();
  if (type != std::filesystem::file_type::regular &&
      type != std::filesystem::file_type::not_found && type != std::filesystem::file_type::none) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("cannot write '{}': it is not a regular file", path.native()));
  }
  return write_and_place(target, content, mode, durability, [&](const char* temporary) {
    return ::rename(temporary, target.c_str());
  });
}

Result<bool> create_file_atomic(const std::filesystem::path& path,
                                std::string_view content,
                                mode_t mode,
                                Durability durability) {
  struct stat there{};
  if (::lstat(path.c_str(), &there) == 0) {  // without a temporary file: also on a full disk
    return false;
  }
  bool exists = false;
  auto written = write_and_place(path, content, mode, durability, [&](const char* temporary) {
    int status = ::link(temporary, path.c_str());
    if (status != 0 && (errno == EPERM || errno == EOPNOTSUPP)) {  // no hard links here
      status = ::renameat2(AT_FDCWD, temporary, AT_FDCWD, path.c_str(), RENAME_NOREPLACE);
    } else if (status == 0) {
      ::unlink(temporary);
    }
    exists = status != 0 && errno == EEXIST;
    return status;
  });
  if (exists) {
    return false;
  }
  JOULESCALE_TRY(std::move(written));
  return true;
}

void sync_file(const std::filesystem::path& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.valid()) {
    ::fsync(fd.get());
  }
  sync_directory(directory_of(path));
}

}  // namespace joulescale
