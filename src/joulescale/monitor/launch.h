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

/// The paths of a run directory.
struct RunDirectory {
  std::filesystem::path path;
  bool made = false;  // by create_run_directory(): it was not there before

  std::filesystem::path launch_file() const { return path / "launch.json"; }
  std::filesystem::path run_file() const { return path / "run.json"; }
  std::filesystem::path nodes() const { return path / "nodes"; }
};

struct NodeDirectory {
  std::filesystem::path path;

  std::filesystem::path journal() const { return path / "journal"; }
  std::filesystem::path marks() const { return path / "marks"; }
  std::filesystem::path report() const { return path / "node.json"; }
};

/// Makes the directory (mode 0700) and puts launch.json in it. `wanted` empty: `name` below
/// ./joulescale-runs, with -2, -3... if it is taken. A directory that holds anything is refused.
/// Errors are the user's (kInvalidArgument).
Result<RunDirectory> create_run_directory(const std::filesystem::path& wanted,
                                          std::string_view name,
                                          const LaunchInfo& launch);

/// Makes nodes/<name>/ with its marks/ directory.
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
