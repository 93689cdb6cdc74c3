// SPDX-License-Identifier: Apache-2.0
// Which rank this process is, of how many, and where they meet: from the variables that torchrun,
// Open MPI or Slurm set. Free of torch.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "joulescale/base/error.h"

namespace joulescale {

struct RankEnvironment {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;          // among the ranks of this node
  std::string launcher;        // "torchrun", "openmpi", "slurm", or "none": a process alone
  std::string master_address;  // empty for one rank
  std::uint16_t master_port = 0;
  /// torchrun's agent already serves the store at that address.
  bool store_is_served = false;
  /// Keeps the keys of restarts by torchrun apart; else empty.
  std::string store_prefix;
};

/// The value of an environment variable, or nothing.
using Environment = std::function<std::optional<std::string>(const char* name)>;

/// The process's own environment.
Environment process_environment();

/// Looks for RANK and WORLD_SIZE, then OMPI_COMM_WORLD_RANK and _SIZE, then SLURM_PROCID and
/// SLURM_NTASKS (the last only where MASTER_ADDR is set too: a plain process in a Slurm job is one
/// rank). More than one rank need MASTER_ADDR and MASTER_PORT. Errors (kInvalidArgument) name the
/// variable.
Result<RankEnvironment> rank_environment(const Environment& environment);

/// "localhost", 127.0.0.0/8 and ::1.
bool is_loopback(std::string_view host);

}  // namespace joulescale
