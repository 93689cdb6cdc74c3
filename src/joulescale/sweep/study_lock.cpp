// SPDX-License-Identifier: Apache-2.0
#include "joulescale/sweep/study_lock.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include <fmt/format.h>

#include "joulescale/base/file.h"
#include "joulescale/base/text.h"

namespace joulescale {
namespace {

constexpr std::size_t kMaxHolderBytes = 256;
constexpr auto kRetry = std::chrono::milliseconds(50);
/// is_locked() of others holds the lock for an instant.
constexpr auto kGlance = std::chrono::milliseconds(300);

struct Holder {
  pid_t pid = 0;
  std::string host;
};

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

/// The lock file holds "<pid> <host>\n".
Holder read_holder(int fd) {
  std::array<char, kMaxHolderBytes> buffer{};
  const ssize_t size = ::pread(fd, buffer.data(), buffer.size(), 0);
  const std::string_view text =
      trim({buffer.data(), size > 0 ? static_cast<std::size_t>(size) : std::size_t{0}});
  const std::size_t blank = text.find(' ');
  Holder holder;
  holder.pid = static_cast<pid_t>(parse_int64(text.substr(0, blank)).value_or(0));
  holder.host = blank == std::string_view::npos ? "" : std::string(text.substr(blank + 1));
  return holder;
}

bool is_gone(const Holder& holder) {
  return holder.pid > 0 && holder.host == host_name() && ::kill(holder.pid, 0) != 0 &&
         errno == ESRCH;
}

bool is_busy(int error_number) { return error_number == EWOULDBLOCK || error_number == EINTR; }

Error held_by(const std::filesystem::path& file, const Holder& holder) {
  return {ErrorCode::kInvalidArgument,
          fmt::format("'{}' is in use by process {} on {}: wait for it, or stop it",
                      file.parent_path().native(),
                      holder.pid,
                      holder.host.empty() ? "another host" : holder.host)};
}

}  // namespace

Result<UniqueFd> lock_study(const std::filesystem::path& file, Nanoseconds patience) {
  UniqueFd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!fd.valid()) {
    return Error(ErrorCode::kInvalidArgument, io_error("write", file.native(), errno).text());
  }
  const Nanoseconds start = system_clock().monotonic_now();
  while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (!is_busy(errno)) {
      return Error(ErrorCode::kInvalidArgument, io_error("lock", file.native(), errno).text());
    }
    const Holder holder = read_holder(fd.get());
    const Nanoseconds waited = system_clock().monotonic_now() - start;
    if (waited >= (is_gone(holder) ? patience : kGlance)) {
      return held_by(file, holder);
    }
    system_clock().sleep_until(system_clock().monotonic_now() + kRetry);
  }
  // The name of the holder is for messages only: a full disk, which cannot take it, shows soon
  // enough.
  const std::string text = fmt::format("{} {}\n", ::getpid(), host_name());
  if (::ftruncate(fd.get(), 0) == 0) {
    (void)!::pwrite(fd.get(), text.data(), text.size(), 0);
  }
  return fd;
}

bool is_locked(const std::filesystem::path& file) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  return fd.valid() && ::flock(fd.get(), LOCK_SH | LOCK_NB) != 0 && is_busy(errno);
}

}  // namespace joulescale
