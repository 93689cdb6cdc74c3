// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/launch.h"

#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <random>
#include <set>

#include <fmt/format.h>

#include "joulescale/base/file.h"
#include "joulescale/base/text.h"
#include "joulescale/monitor/journal.h"

namespace joulescale {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRunsFolder = "joulescale-runs";
constexpr mode_t kPrivate = 0700;

bool is_file_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

Error cannot_use(const fs::path& directory, std::string_view reason) {
  return Error(ErrorCode::kInvalidArgument,
               fmt::format("output directory '{}': {}", directory.native(), reason));
}

/// Holds nothing, or only what other ranks of a launch that begins just now put there.
Result<bool> may_begin_in(const fs::path& directory) {
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().native();
    if (name != "launch.json" && !name.starts_with(".launch.json.")) {
      return false;
    }
  }
  if (error) {
    return cannot_use(directory, fmt::format("cannot be read: {}", error.message()));
  }
  return true;
}

/// The launch of the directory; `mine` is put there if it has none. Nothing: it holds other things.
Result<std::optional<LaunchInfo>> begin_or_read_launch(const RunDirectory& directory,
                                                       const LaunchInfo& mine) {
  std::error_code error;
  if (!fs::exists(directory.launch_file(), error)) {
    JOULESCALE_TRY_ASSIGN(const bool free, may_begin_in(directory.path));
    if (free) {
      auto begun = create_file_atomic(
          directory.launch_file(), format_launch(mine), 0600, Durability::kLater);
      if (!begun) {
        return cannot_use(directory.path, begun.error().text());
      }
      if (*begun) {
        return std::optional(mine);
      }
    } else if (!fs::exists(directory.launch_file(), error)) {  // nor did another begin meanwhile
      return std::optional<LaunchInfo>();
    }
  }
  auto launch = read_launch(directory);
  if (!launch) {
    return cannot_use(directory.path, launch.error().text());
  }
  return std::optional(std::move(launch).value());
}

/// Registers the rank, or the first free number. Nothing: it is registered already.
Result<std::optional<int>> claim_rank(const RunDirectory& directory, std::optional<int> rank) {
  constexpr int kMostRanks = 1'000'000;
  if (::mkdir(directory.ranks().c_str(), kPrivate) != 0 && errno != EEXIST) {
    return cannot_use(directory.path, fmt::format("cannot be written: {}", std::strerror(errno)));
  }
  const int first = rank.value_or(0);
  const int last = rank.value_or(kMostRanks);
  for (int number = first; number <= last; ++number) {
    auto claimed = create_file_atomic(directory.rank_file(number), "", 0600, Durability::kLater);
    if (!claimed) {
      return cannot_use(directory.path, claimed.error().text());
    }
    if (*claimed) {
      return std::optional(number);
    }
  }
  return std::optional<int>();
}

/// Without "..": the command may remove the directory that it was started in.
fs::path lasting_path(const fs::path& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  const fs::path resolved = fs::weakly_canonical(absolute, error);
  return error || resolved.empty() ? absolute : resolved;
}

/// Why a directory is not this launch's place; empty after `joined` was filled.
Result<std::string> try_join(const LaunchInfo& mine,
                             std::optional<int> rank,
                             JoinedLaunch& joined) {
  JOULESCALE_TRY_ASSIGN(joined.made_directory, make_private_directory(joined.directory.path));
  JOULESCALE_TRY_ASSIGN(const auto launch, begin_or_read_launch(joined.directory, mine));
  if (!launch) {
    return std::string("is not empty; choose another with --output, or remove it");
  }
  joined.launch = *launch;
  std::error_code error;
  if (launch->key == mine.key && launch->expected_ranks != mine.expected_ranks) {
    return fmt::format(
        "belongs to a launch of {} ranks, this one has {}; choose another with "
        "--output",
        launch->expected_ranks,
        mine.expected_ranks);
  }
  if (launch->key != mine.key && mine.alone) {
    return std::string("holds another run; choose another with --output, or remove it");
  }
  if (launch->key != mine.key) {
    return fmt::format("holds another launch ('{}'; this is '{}'); choose another with --output",
                       launch->key,
                       mine.key);
  }
  if (fs::exists(joined.directory.run_file(), error)) {
    return std::string("holds a launch that has ended; choose another with --output");
  }
  JOULESCALE_TRY_ASSIGN(const auto claimed, claim_rank(joined.directory, rank));
  if (!claimed) {
    return fmt::format("rank {} is registered in it already; choose another with --output",
                       rank.value_or(0));
  }
  joined.rank = *claimed;
  return std::string();
}

}  // namespace

Result<bool> make_private_directory(const fs::path& directory) {
  std::error_code error;
  if (directory.has_parent_path()) {
    fs::create_directories(directory.parent_path(), error);
    if (error) {
      return cannot_use(directory,
                        fmt::format("'{}' cannot be made: {}; choose another with --output",
                                    directory.parent_path().native(),
                                    error.message()));
    }
  }
  if (::mkdir(directory.c_str(), kPrivate) == 0) {
    return true;
  }
  if (errno != EEXIST) {
    return cannot_use(
        directory,
        fmt::format("cannot be made: {}; choose another with --output", std::strerror(errno)));
  }
  if (!fs::is_directory(directory, error)) {
    return cannot_use(directory, "is not a directory; choose another with --output");
  }
  return false;
}

std::string random_launch_id() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    std::random_device device;
    for (unsigned char& byte : bytes) {
      byte = static_cast<unsigned char>(device());
    }
  }
  std::string id;
  for (const unsigned char byte : bytes) {
    id += fmt::format("{:02x}", byte);
  }
  return id;
}

std::string file_name_of(std::string_view key) {
  constexpr std::size_t kMostBytes = 100;
  std::string name(key.substr(0, kMostBytes));
  std::ranges::replace_if(name, std::not_fn(is_file_name_character), '-');
  return name.starts_with('.') ? "launch" + name : name;
}

fs::path RunDirectory::rank_file(int rank) const { return ranks() / fmt::format("{}.json", rank); }

fs::path NodeDirectory::journal(int rank) const { return path / fmt::format("journal-{}", rank); }

std::vector<fs::path> NodeDirectory::journals() const {
  std::set<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().native();
    if (name.starts_with("journal-")) {
      found.insert(path / name.substr(0, name.find('.')));
    }
  }
  return {found.begin(), found.end()};
}

Result<JoinedLaunch> join_launch(const fs::path& wanted,
                                 std::string_view name,
                                 const LaunchInfo& mine,
                                 std::optional<int> rank) {
  constexpr int kMostTries = 1'000'000;
  std::error_code error;
  if (!wanted.empty()) {
    JoinedLaunch joined;
    joined.directory.path = lasting_path(wanted);
    JOULESCALE_TRY_ASSIGN(const std::string refusal, try_join(mine, rank, joined));
    if (!refusal.empty()) {
      return cannot_use(wanted, refusal);
    }
    return joined;
  }
  fs::path passed_over;
  for (int i = 1; i < kMostTries; ++i) {
    const fs::path path =
        fs::path(kRunsFolder) / (i == 1 ? std::string(name) : fmt::format("{}-{}", name, i));
    if (mine.alone && fs::exists(path, error)) {
      continue;
    }
    JoinedLaunch joined;
    joined.directory.path = lasting_path(path);
    auto refusal = try_join(mine, rank, joined);
    if (!refusal) {
      return std::move(refusal).error();
    }
    if (refusal->empty()) {
      joined.passed_over = passed_over;
      return joined;
    }
    if (joined.launch.key == mine.key) {
      passed_over = path;
    }
  }
  return cannot_use(fs::path(kRunsFolder) / name, "too many runs of this name");
}

void leave_launch(const JoinedLaunch& joined, const NodeDirectory& node) {
  const RunDirectory& directory = joined.directory;
  std::error_code ignored;
  JournalFiles{node.journal(joined.rank)}.remove();
  fs::remove(directory.rank_file(joined.rank), ignored);
  fs::remove(node.marks(), ignored);
  fs::remove(node.path, ignored);
  fs::remove(directory.nodes(), ignored);
  if (fs::remove(directory.ranks(), ignored)) {  // no other rank is there
    fs::remove(directory.launch_file(), ignored);
    if (joined.made_directory) {
      fs::remove(directory.path, ignored);
    }
  }
}

Result<NodeDirectory> create_node_directory(const RunDirectory& run, std::string_view name) {
  NodeDirectory node{run.nodes() / name};
  for (const fs::path& path : {run.nodes(), node.path, node.marks()}) {
    if (::mkdir(path.c_str(), kPrivate) != 0 && errno != EEXIST) {
      return cannot_use(path, fmt::format("cannot be made: {}", std::strerror(errno)));
    }
  }
  return node;
}

NodeIdentity node_identity(const std::map<std::string, std::string>& environment,
                           const fs::path& root) {
  std::array<char, 256> host{};
  NodeIdentity node;
  if (::gethostname(host.data(), host.size() - 1) == 0) {
    node.host = host.data();
  }
  if (const auto slurm = environment.find("SLURMD_NODENAME"); slurm != environment.end()) {
    node.identity = slurm->second;
    node.directory = node.identity;
  } else {
    auto boot_id = read_file(root / "proc/sys/kernel/random/boot_id", 4096);
    if (!boot_id) {
      boot_id = read_file("/proc/sys/kernel/random/boot_id", 4096);
    }
    node.identity = boot_id ? std::string(trim(*boot_id)) : node.host;
    node.directory = fmt::format("{}-{}", node.host, node.identity.substr(0, 8));
  }
  std::ranges::replace_if(node.directory, std::not_fn(is_file_name_character), '_');
  if (node.directory.empty() || node.directory.starts_with('.')) {
    node.directory.insert(0, "node");
  }
  return node;
}

}  // namespace joulescale
