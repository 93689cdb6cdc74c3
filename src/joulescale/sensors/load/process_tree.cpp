// SPDX-License-Identifier: Apache-2.0
#include "joulescale/sensors/load/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <memory>
#include <string_view>
#include <utility>

#include "joulescale/base/file.h"
#include "joulescale/base/unique_fd.h"

namespace joulescale {
namespace {

/// Beyond it processes are not counted; the lists never grow, since reading must not allocate.
constexpr std::size_t kMostMembers = 1U << 14;
constexpr std::size_t kMostProcesses = 1U << 16;
/// Looking for members takes at most one part in so many of the time, or of the time while none is
/// known (the command begins after the first look), and is done at least this often.
constexpr int kSearchCostFactor = 2000;
constexpr int kFirstSearchCostFactor = 20;
constexpr Nanoseconds kLongestSearchPause = std::chrono::seconds(30);

using PathBuffer = std::array<char, 4096>;

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
using Directory = std::unique_ptr<DIR, CloseDirectory>;

Directory open_directory(const char* path) { return Directory(::opendir(path)); }

std::optional<pid_t> parse_pid(std::string_view text) {
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && pid > 0 ? std::optional(pid) : std::nullopt;
}

/// The next entry that is a process or thread; nothing at the end.
std::optional<pid_t> next_pid(DIR* directory) {
  while (const dirent* entry = ::readdir(directory)) {  // one reader a directory
    if (const auto pid = parse_pid(static_cast<const char*>(entry->d_name))) {
      return pid;
    }
  }
  return std::nullopt;
}

}  // namespace

ProcessTree::ProcessTree(std::filesystem::path proc, pid_t root, pid_t except, Clock& clock)
    : proc_(std::move(proc)), root_(root), except_(except), clock_(clock) {
  const std::string own = std::to_string(root_);
  std::error_code error;
  lists_children_ = std::filesystem::exists(proc_ / own / "task" / own / "children", error);
  members_.reserve(kMostMembers);
  if (!lists_children_) {
    relations_.reserve(kMostProcesses);
  }
}

std::optional<ProcessStat> ProcessTree::stat_of(pid_t pid) const noexcept {
  PathBuffer path{};
  std::snprintf(path.data(), path.size(), "%s/%d/stat", proc_.c_str(), pid);
  std::array<char, 1024> text;
  return parse_process_stat(read_start(path.data(), text));
}

std::optional<TreeUse> ProcessTree::read() noexcept {
  const Nanoseconds begin = clock_.monotonic_now();
  if (begin >= next_search_) {
    find_members();
    const Nanoseconds end = clock_.monotonic_now();
    const int factor = members_.empty() ? kFirstSearchCostFactor : kSearchCostFactor;
    next_search_ = end + std::min(factor * (end - begin), kLongestSearchPause);
  }
  // Parents first: a child that ends meanwhile is then missing for once, never counted twice, and
  // the highest sum so far stands until the next reading.
  const auto root = stat_of(root_);
  if (!root) {
    return std::nullopt;
  }
  TreeUse use;
  use.cpu_ticks = root->child_ticks;
  std::size_t num_left = 0;
  for (Member& member : members_) {
    const auto stat = stat_of(member.pid);
    if (!stat || (member.start_ticks != 0 && stat->start_ticks != member.start_ticks)) {
      continue;  // ended; its number may be another's by now
    }
    member.start_ticks = stat->start_ticks;
    use.cpu_ticks += stat->own_ticks + stat->child_ticks;
    use.rss_pages += stat->rss_pages;
    members_[num_left++] = member;
  }
  members_.resize(num_left);
  highest_ticks_ = std::max(highest_ticks_, use.cpu_ticks);
  use.cpu_ticks = highest_ticks_;
  return use;
}

void ProcessTree::find_members() noexcept {
  members_.clear();
  if (!lists_children_) {
    scan_processes();
    return;
  }
  add_children_of(root_);
  for (std::size_t i = 0; i < members_.size(); ++i) {  // grows while it is gone through
    add_children_of(members_[i].pid);
  }
}

void ProcessTree::add_member(pid_t pid) noexcept {
  if (pid != except_ && pid != root_ && members_.size() < kMostMembers) {
    members_.push_back({pid, 0});
  }
}

void ProcessTree::add_children_of(pid_t pid) noexcept {
  PathBuffer path{};
  std::snprintf(path.data(), path.size(), "%s/%d/task", proc_.c_str(), pid);
  const Directory tasks = open_directory(path.data());
  while (const auto thread = tasks ? next_pid(tasks.get()) : std::nullopt) {
    std::snprintf(path.data(), path.size(), "%s/%d/task/%d/children", proc_.c_str(), pid, *thread);
    add_children_listed_in(path.data());
  }
}

void ProcessTree::add_children_listed_in(const char* file) noexcept {
  const UniqueFd fd(::open(file, O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> text{};
  pid_t pid = 0;
  ssize_t size = 0;
  while (fd.valid() && (size = ::read(fd.get(), text.data(), text.size())) > 0) {
    for (const char character : std::string_view(text.data(), static_cast<std::size_t>(size))) {
      if (std::isdigit(static_cast<unsigned char>(character)) != 0 && pid < 100'000'000) {
        pid = pid * 10 + (character - '0');
      } else if (pid != 0) {
        add_member(std::exchange(pid, 0));
      }
    }
  }
  if (pid != 0) {
    add_member(pid);
  }
}

void ProcessTree::scan_processes() noexcept {
  relations_.clear();
  const Directory processes = open_directory(proc_.c_str());
  while (const auto pid = processes ? next_pid(processes.get()) : std::nullopt) {
    const auto stat = relations_.size() < kMostProcesses ? stat_of(*pid) : std::nullopt;
    if (stat) {
      relations_.push_back({*pid, stat->parent});
    }
  }
  std::ranges::sort(relations_, {}, &Relation::parent);
  const auto add_children = [&](pid_t parent) {
    for (const Relation& relation :
         std::ranges::equal_range(relations_, parent, {}, &Relation::parent)) {
      add_member(relation.pid);
    }
  };
  add_children(root_);
  for (std::size_t i = 0; i < members_.size(); ++i) {
    add_children(members_[i].pid);
  }
}

}  // namespace joulescale
