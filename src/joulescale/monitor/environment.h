// SPDX-License-Identifier: Apache-2.0
// What the monitor learns from its environment and from the command line it wraps: the variables
// worth recording, and whether a launcher is above or below it.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace joulescale {

using EnvironmentMap = std::map<std::string, std::string>;

/// Out of "NAME=value" texts ended by null, such as `environ`.
EnvironmentMap read_environment(const char* const* variables);

/// Those that the record may hold: an allow-list of names and prefixes, without any name that looks
/// like a secret (TOKEN, JWT, KEY, SECRET, PASS, CRED, AUTH, COOKIE).
EnvironmentMap recordable_environment(const EnvironmentMap& environment);

/// The launcher that started this process as one of several, by its variables.
struct LauncherRanks {
  std::string launcher;  // "torchrun", "openmpi", "pmi", "slurm"
  int world_size = 1;
  std::optional<int> local_size;  // ranks on this node
  int rank = 0;
};
/// The innermost launcher; nothing when none started this process.
std::optional<LauncherRanks> detect_launcher(const EnvironmentMap& environment);

/// Whether the command is itself a launcher that may start ranks on other nodes, which a monitor
/// around it does not see: srun, mpirun, mpiexec, or torchrun over several nodes.
bool is_wrapped_launcher(std::span<const std::string> command);

}  // namespace joulescale
