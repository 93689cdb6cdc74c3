// SPDX-License-Identifier: Apache-2.0
#include "joulescale/parallel/rendezvous.h"

#include <array>
#include <cstdlib>

#include <fmt/format.h>

#include "joulescale/base/text.h"

namespace joulescale {
namespace {

struct LauncherVariables {
  const char* launcher;
  const char* rank;
  const char* world_size;
  const char* local_rank;
  bool needs_master;  // counts as a launcher only where MASTER_ADDR is set
};

constexpr std::array<LauncherVariables, 3> kLaunchers = {{
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", false},
    {"openmpi",
     "OMPI_COMM_WORLD_RANK",
     "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK",
     false},
    {"slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", true},
}};
constexpr std::int64_t kMaxWorldSize = 1'000'000;
constexpr std::int64_t kMaxPort = 65535;

Result<std::int64_t> number(const Environment& environment,
                            const char* name,
                            std::int64_t low,
                            std::int64_t high) {
  const auto text = environment(name);
  if (!text) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("the environment variable {} is not set (torchrun, mpirun or srun and "
                             "a job script set it)",
                             name));
  }
  const auto value = parse_int64(*text);
  if (!value || *value < low || *value > high) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("the environment variable {}='{}' is not a whole number from {} to {}",
                             name,
                             *text,
                             low,
                             high));
  }
  return *value;
}

Result<void> read_master(const Environment& environment, RankEnvironment& ranks) {
  const auto address = environment("MASTER_ADDR");
  if (!address || address->empty()) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("{} ranks need MASTER_ADDR and MASTER_PORT, the address of rank 0 and "
                             "a free port there; MASTER_ADDR is not set",
                             ranks.world_size));
  }
  ranks.master_address = *address;
  JOULESCALE_TRY_ASSIGN(const auto port, number(environment, "MASTER_PORT", 1, kMaxPort));
  ranks.master_port = static_cast<std::uint16_t>(port);
  // torchrun: https://docs.pytorch.org/docs/stable/elastic/run.html and torch/distributed's env://
  ranks.store_is_served = environment("TORCHELASTIC_USE_AGENT_STORE") == "True";
  if (ranks.store_is_served) {
    ranks.store_prefix = fmt::format("joulescale/attempt_{}",
                                     environment("TORCHELASTIC_RESTART_COUNT").value_or("0"));
  }
  return {};
}

}  // namespace

Environment process_environment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

Result<RankEnvironment> rank_environment(const Environment& environment) {
  RankEnvironment ranks;
  ranks.launcher = "none";
  for (const LauncherVariables& variables : kLaunchers) {
    if (!environment(variables.rank) || (variables.needs_master && !environment("MASTER_ADDR"))) {
      continue;
    }
    ranks.launcher = variables.launcher;
    JOULESCALE_TRY_ASSIGN(const auto world_size,
                          number(environment, variables.world_size, 1, kMaxWorldSize));
    JOULESCALE_TRY_ASSIGN(const auto rank, number(environment, variables.rank, 0, world_size - 1));
    ranks.world_size = static_cast<int>(world_size);
    ranks.rank = static_cast<int>(rank);
    if (environment(variables.local_rank)) {
      JOULESCALE_TRY_ASSIGN(const auto local_rank,
                            number(environment, variables.local_rank, 0, world_size - 1));
      ranks.local_rank = static_cast<int>(local_rank);
    }
    break;
  }
  if (ranks.world_size > 1) {
    JOULESCALE_TRY(read_master(environment, ranks));
  }
  return ranks;
}

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

}  // namespace joulescale
