// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/source_claims.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace joulescale {
namespace {

namespace fs = std::filesystem;

/// The user is part of the name: another user's files cannot stand in the way.
std::string prefix_of(const std::string& launch_id, const std::string& node) {
  return fmt::format("joulescale-{}-{}-{}-", ::getuid(), launch_id, node);
}

constexpr char kReady = '1';

}  // namespace

fs::path node_lock_directory() {
  const fs::path shared_memory = "/dev/shm";
  return ::access(shared_memory.c_str(), W_OK | X_OK) == 0 ? shared_memory : fs::path("/tmp");
}

SourceClaims::SourceClaims(const std::string& launch_id,
                           const std::string& node,
                           fs::path directory)
    : prefix_(prefix_of(launch_id, node)), directory_(std::move(directory)) {}

fs::path SourceClaims::file_of(const std::string& source) const {
  std::string name = prefix_ + source;
  std::ranges::replace(name, '/', '_');
  return directory_ / name;
}

bool SourceClaims::still_in_place(const std::string& source, const Lock& lock) const {
  struct stat opened{};
  struct stat named{};
  return ::fstat(lock.fd.get(), &opened) == 0 && ::stat(file_of(source).c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

bool SourceClaims::was_read(const Lock& lock) {
  char state = 0;
  return ::pread(lock.fd.get(), &state, 1, 0) == 1 && state == kReady;
}

/// Whether the source has a lock file, with O_CREAT in `flags` a new one if need be.
bool SourceClaims::open_file(const std::string& source, int flags, Lock& lock) const {
  if (!lock.fd.valid() || !still_in_place(source, lock)) {
    lock.fd.reset(::open(file_of(source).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600));
  }
  return lock.fd.valid();
}

bool SourceClaims::take(const std::string& source, Lock& lock) const {
  if (::flock(lock.fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return false;
  }
  if (!still_in_place(source, lock)) {  // replaced between open and lock
    lock.fd.reset();
    return false;
  }
  lock.held = true;
  return true;
}

bool SourceClaims::claim(const std::string& source) {
  const std::lock_guard guard(mutex_);
  Lock& lock = locks_[source];
  return lock.held || !open_file(source, O_CREAT, lock) || take(source, lock);
}

bool SourceClaims::inherit(const std::string& source) {
  const std::lock_guard guard(mutex_);
  Lock& lock = locks_[source];
  return lock.held || (open_file(source, 0, lock) && was_read(lock) && take(source, lock));
}

void SourceClaims::set_ready(const std::string& source) {
  const std::lock_guard guard(mutex_);
  const auto found = locks_.find(source);
  if (found != locks_.end() && found->second.held) {
    // A failure costs another rank some waiting, no more.
    [[maybe_unused]] const ssize_t written = ::pwrite(found->second.fd.get(), &kReady, 1, 0);
  }
}

bool SourceClaims::is_ready(const std::string& source) {
  const std::lock_guard guard(mutex_);
  const auto found = locks_.find(source);
  return found != locks_.end() && found->second.fd.valid() && was_read(found->second);
}

bool SourceClaims::verify() {
  const std::lock_guard guard(mutex_);
  bool all_in_place = true;
  for (auto& [source, lock] : locks_) {
    if (lock.held && !still_in_place(source, lock)) {
      lock = Lock();
      all_in_place = false;
    }
  }
  return all_in_place;
}

void SourceClaims::remove_files(const std::string& launch_id,
                                const std::string& node,
                                const fs::path& directory) {
  const std::string prefix = prefix_of(launch_id, node);
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().filename().native().starts_with(prefix)) {
      files.push_back(entry->path());
    }
  }
  for (const fs::path& file : files) {
    fs::remove(file, error);
  }
}

}  // namespace joulescale
