// SPDX-License-Identifier: Apache-2.0
// A launch and its run directory: launch.json says what was started, nodes/<node>/ holds what each
// node measured.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "joulescale/base/error.h"
#include "joulescale/record/run_record.h"

namespace joulescale {

inline constexpr std::string_view kLaunchSchema = "joulescale.launch/1";

struct LaunchInfo {
  std::string id;        // random
  std::string key;       // what processes of one launch have in common
  bool alone = false;    // no other process has the key; not in launch.json
  std::string launcher;  // "none", "torchrun"...
  int expected_ranks = 1;
  std::vector<std::string> command;  // empty when redacted
  std::string started_at;            // RFC 3339, UTC
  std::string version;
  std::map<std::string, std::string> environment;
  std::optional<StudyRecord> study;
  std::vector<std::string> flags;  // known before the start: launcher_wrapped
};

std::string format_launch(const LaunchInfo& launch);
Result<LaunchInfo> parse_launch(std::string_view text);

/// 32 random hexadecimal digits.
std::string random_launch_id();

/// A key as a file name: letters, digits and "-_." stay, all else becomes '-'; at most 100 bytes.
std::string file_name_of(std::string_view key);

/// The paths of a run directory.
struct RunDirectory {
  std::filesystem::path path;

  std::filesystem::path launch_file() const { return path / "launch.json"; }
  std::filesystem::path run_file() const { return path / "run.json"; }
  std::filesystem::path nodes() const { return path / "nodes"; }
  /// What each rank told of itself: rank_record.h.
  std::filesystem::path ranks() const { return path / "ranks"; }
  std::filesystem::path rank_file(int rank) const;
};

/// mkdir (mode 0700) with its parents. True: it was not there. Errors are the user's
/// (kInvalidArgument).
Result<bool> make_private_directory(const std::filesystem::path& directory);

/// What launch.json says. An error (kInvalidArgument) names the directory, and why it is none or
/// cannot be read.
Result<LaunchInfo> read_launch(const RunDirectory& directory);

struct NodeDirectory {
  std::filesystem::path path;

  /// One a process that measured: "journal-<rank>".
  std::filesystem::path journal(int rank) const;
  /// All that are there, by name; each may go on in further files (JournalFiles).
  std::vector<std::filesystem::path> journals() const;
  std::filesystem::path marks() const { return path / "marks"; }
  std::filesystem::path report() const { return path / "node.json"; }
};

/// A launch that this process belongs to.
struct JoinedLaunch {
  RunDirectory directory;
  LaunchInfo launch;  // as its first process wrote it
  int rank = 0;
  bool made_directory = false;  // it was not there before
  /// Of the same key, but ended, of another number of ranks, or with this rank already; empty if
  /// there is none.
  std::filesystem::path passed_over;
};

/// Joins the launch whose key is `mine.key`, or begins it: the first process makes the directory
/// (mode 0700) and puts launch.json in it, each puts its rank's file into ranks/. A directory of
/// another launch, or one in which the rank is registered already, is passed over: without `wanted`
/// the next of `name`, `name`-2, `name`-3... below ./joulescale-runs is tried, with `wanted` that
/// is an error. Without `rank` the first free number is taken. Errors are the user's
/// (kInvalidArgument).
Result<JoinedLaunch> join_launch(const std::filesystem::path& wanted,
                                 std::string_view name,
                                 const LaunchInfo& mine,
                                 std::optional<int> rank);

/// Takes back what join_launch() and create_node_directory() made for a rank that was not started
/// after all; what other ranks use stays.
void leave_launch(const JoinedLaunch& joined, const NodeDirectory& node);

/// Makes nodes/<name>/ with its marks/ directory; it may be there.
Result<NodeDirectory> create_node_directory(const RunDirectory& run, std::string_view name);

/// SLURMD_NODENAME, else the kernel's boot id, else the host name.
struct NodeIdentity {
  std::string identity;
  std::string host;       // a label
  std::string directory;  // a name fit for a directory
};
NodeIdentity node_identity(const std::map<std::string, std::string>& environment,
                           const std::filesystem::path& root);

}  // namespace joulescale
