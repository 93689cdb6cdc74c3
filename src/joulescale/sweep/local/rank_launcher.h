// SPDX-License-Identifier: Apache-2.0
// Starts the ranks of one data-parallel program on this machine, and ends them all together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace joulescale {

struct RankLaunch {
  int num_ranks = 1;
  std::vector<std::string> argv;
  std::optional<std::uint16_t> master_port;  // a free one by default
  /// Rank 0 gets "--store-listen-fd N": the listening socket of the rendezvous, so that nobody can
  /// take the port in between. Without it the socket is closed just before the ranks start.
  bool pass_listen_fd = false;
  /// End (as by SIGTERM) when the parent process dies.
  bool end_with_parent = false;
};

/// Runs the ranks to their end. Each has torchrun's variables (RANK, LOCAL_RANK, WORLD_SIZE,
/// LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT), JOULESCALE_LAUNCH_ID (the same for all of them, and
/// no other launch's), OMP_NUM_THREADS = its cores, its own cores while there are as many as ranks,
/// and its own process group. Output is passed through as it is.
///
/// When a rank fails the others get SIGTERM, 5 s later SIGKILL, and one line on stderr names it.
/// SIGINT, SIGTERM and SIGHUP go on to each rank once; a second one, or 30 s, kills.
/// Returns the status of the first rank that failed, as a shell gives it; 0; 2 when the port is
/// taken; 126 or 127 when the program cannot be started. No process is left behind.
int launch_ranks(const RankLaunch& launch);

}  // namespace joulescale
