// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/launcher.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "joulescale/base/text.h"

namespace joulescale {
namespace {

std::string text(const EnvironmentMap& environment, const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

std::optional<int> number(const EnvironmentMap& environment, const char* name) {
  const auto value = parse_int64(trim(text(environment, name)));
  if (!value || *value < 0 || *value > 100'000'000) {
    return std::nullopt;
  }
  return static_cast<int>(*value);
}

struct RankVariables {
  const char* rank;
  const char* world_size;
};

constexpr std::array kRankVariables = {
    RankVariables{"RANK", "WORLD_SIZE"},
    RankVariables{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    RankVariables{"PMIX_RANK", "SLURM_STEP_NUM_TASKS"},
    RankVariables{"PMI_RANK", "PMI_SIZE"},
    // Set in a step only, not in a batch script: that one runs once, on the first node.
    RankVariables{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
};

struct Place {
  int rank = 0;
  int world_size = 0;
};

/// Nothing where the two variables do not name a rank below a world size.
std::optional<Place> place_of(const EnvironmentMap& environment, const RankVariables& variables) {
  const auto rank = number(environment, variables.rank);
  const auto world_size = number(environment, variables.world_size);
  return rank && world_size && *rank < *world_size ? std::optional(Place{*rank, *world_size})
                                                   : std::nullopt;
}

/// Whether both are there and name no rank.
bool are_wrong(const EnvironmentMap& environment, const RankVariables& variables) {
  return !text(environment, variables.rank).empty() &&
         !text(environment, variables.world_size).empty() && !place_of(environment, variables);
}

Error no_rank_error(const EnvironmentMap& environment, const RankVariables& variables) {
  return Error(ErrorCode::kInvalidArgument,
               fmt::format("{}='{}' is no rank of {}='{}': mend or unset them",
                           variables.rank,
                           to_valid_utf8(text(environment, variables.rank)),
                           variables.world_size,
                           to_valid_utf8(text(environment, variables.world_size))));
}

struct Key {
  std::string launcher = "unknown";
  std::string text;
};

/// ":attempt-2" where the variable counts restarts and is not 0.
std::string attempt(const EnvironmentMap& environment, const char* variable) {
  const auto restarts = number(environment, variable);
  return restarts.value_or(0) > 0 ? fmt::format(":attempt-{}", *restarts + 1) : "";
}

Key launch_key(const EnvironmentMap& environment) {
  const std::string job = text(environment, "SLURM_JOB_ID");
  const std::string slurm =
      job.empty() ? ""
                  : fmt::format("slurm-{}{}", job, attempt(environment, "SLURM_RESTART_COUNT"));
  if (const std::string run = text(environment, "TORCHELASTIC_RUN_ID"); !run.empty()) {
    return {"torchrun",
            fmt::format("torchrun-{}:{}:{}{}{}{}",
                        run,
                        text(environment, "MASTER_ADDR"),
                        text(environment, "MASTER_PORT"),
                        attempt(environment, "TORCHELASTIC_RESTART_COUNT"),
                        slurm.empty() ? "" : ":",
                        slurm)};
  }
  if (const std::string id = text(environment, "JOULESCALE_LAUNCH_ID"); !id.empty()) {
    return {"joulescale", fmt::format("launch-{}{}{}", id, slurm.empty() ? "" : ":", slurm)};
  }
  for (const char* name :
       {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "OMPI_MCA_orte_ess_jobid"}) {
    if (const std::string id = text(environment, name); !id.empty()) {
      return {"mpi", fmt::format("mpi-{}{}{}", id, slurm.empty() ? "" : ":", slurm)};
    }
  }
  if (const std::string step = text(environment, "SLURM_STEP_ID");
      !slurm.empty() && !step.empty()) {
    return {"slurm", fmt::format("{}:step-{}", slurm, step)};
  }
  return {};
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') == std::string_view::npos ? 0 : path.rfind('/') + 1);
}

/// Whether torchrun's --nnodes says more than one ("2", "1:4").
bool spans_nodes(std::span<const std::string> arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string_view argument = arguments[i];
    for (const std::string_view option : {"--nnodes", "--nnodes="}) {
      if (argument == option && i + 1 < arguments.size()) {
        return arguments[i + 1] != "1" && arguments[i + 1] != "1:1";
      }
      if (option.ends_with('=') && argument.starts_with(option)) {
        argument.remove_prefix(option.size());
        return argument != "1" && argument != "1:1";
      }
    }
  }
  return false;
}

}  // namespace

Result<std::optional<LauncherRank>> detect_launcher(const EnvironmentMap& environment) {
  // The first ones are set by hand as well, so that they may be wrong; those of a launcher may be
  // left over from another.
  if (are_wrong(environment, kRankVariables.front())) {
    return no_rank_error(environment, kRankVariables.front());
  }
  for (const RankVariables& variables : kRankVariables) {
    if (const auto place = place_of(environment, variables)) {
      Key key = launch_key(environment);
      return std::optional(LauncherRank{
          std::move(key.launcher), place->rank, place->world_size, std::move(key.text)});
    }
  }
  for (const RankVariables& variables : kRankVariables) {
    if (are_wrong(environment, variables)) {
      return no_rank_error(environment, variables);
    }
  }
  if (const std::string rank_text = text(environment, kRankVariables.front().rank);
      !rank_text.empty()) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("RANK='{}' is set and WORLD_SIZE is not: set it too, or unset RANK",
                             to_valid_utf8(rank_text)));
  }
  return std::optional<LauncherRank>();
}

bool is_wrapped_launcher(std::span<const std::string> command) {
  if (command.empty()) {
    return false;
  }
  const std::string_view program = base_name(command.front());
  constexpr std::array<std::string_view, 5> kLauncherPrograms = {
      "srun", "mpirun", "mpiexec", "orterun", "prterun"};
  if (std::ranges::find(kLauncherPrograms, program) != kLauncherPrograms.end()) {
    return true;
  }
  const bool is_torchrun =
      program == "torchrun" || std::ranges::find(command, "torch.distributed.run") != command.end();
  return is_torchrun && spans_nodes(command);
}

}  // namespace joulescale
