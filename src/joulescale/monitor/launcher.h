// SPDX-License-Identifier: Apache-2.0
// Whether a launcher is above the monitor (it is one of several ranks) or below it (the command is
// one), as environment and command line tell.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "joulescale/base/error.h"
#include "joulescale/monitor/environment.h"

namespace joulescale {

/// This process as one of the ranks that a launcher started.
struct LauncherRank {
  std::string
      launcher;  // "torchrun", "joulescale", "mpi", "slurm"; "unknown" where only a rank is told
  int rank = 0;
  int world_size = 1;
  /// What all ranks of the launch have in common, and only they as far as the launcher tells; empty
  /// if it tells nothing (plain Hydra, a hand-written loop).
  std::string key;
};

/// Nothing when no launcher started this process as a rank (a Slurm batch script is none).
///   rank   RANK, OMPI_COMM_WORLD_RANK, PMIX_RANK, PMI_RANK, SLURM_PROCID in a step: the first that
///          stands beside its world size
///   key    TORCHELASTIC_RUN_ID with MASTER_ADDR and MASTER_PORT; else JOULESCALE_LAUNCH_ID, which
///          `joulescale launch` sets; else PMIX_NAMESPACE or OpenMPI's job id; else Slurm job and
///          step. Slurm's job id and the attempt number of a restarted job are part of it.
/// An error (kInvalidArgument) where RANK is no rank of WORLD_SIZE, or is the only rank set.
Result<std::optional<LauncherRank>> detect_launcher(const EnvironmentMap& environment);

/// Whether the command is itself a launcher that may start ranks on other nodes, which a monitor
/// around it does not see: srun, mpirun, mpiexec, or torchrun over several nodes.
bool is_wrapped_launcher(std::span<const std::string> command);

}  // namespace joulescale
