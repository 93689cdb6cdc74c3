// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/environment.h"

#include <algorithm>
#include <array>

#include "joulescale/base/text.h"

namespace joulescale {
namespace {

constexpr std::array<std::string_view, 16> kRecordedPrefixes = {"SLURM_",
                                                                "SLURMD_",
                                                                "CUDA_",
                                                                "NVIDIA_VISIBLE",
                                                                "NCCL_",
                                                                "GLOO_",
                                                                "OMP_",
                                                                "MKL_",
                                                                "OMPI_COMM_",
                                                                "PMI",
                                                                "TORCH",
                                                                "PYTORCH_",
                                                                "HIP_",
                                                                "ROCR_",
                                                                "KMP_",
                                                                "OPENBLAS_"};
constexpr std::array<std::string_view, 8> kRecordedNames = {"HOSTNAME",
                                                            "RANK",
                                                            "LOCAL_RANK",
                                                            "WORLD_SIZE",
                                                            "LOCAL_WORLD_SIZE",
                                                            "MASTER_ADDR",
                                                            "MASTER_PORT",
                                                            "GROUP_RANK"};
constexpr std::array<std::string_view, 8> kSecretParts = {
    "TOKEN", "JWT", "KEY", "SECRET", "PASS", "CRED", "AUTH", "COOKIE"};

bool is_recordable(std::string_view name) {
  std::string upper(name);
  std::ranges::transform(upper, upper.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  const bool is_secret = std::ranges::any_of(
      kSecretParts, [&](std::string_view part) { return upper.find(part) != std::string::npos; });
  const bool is_listed = std::ranges::find(kRecordedNames, name) != kRecordedNames.end() ||
                         std::ranges::any_of(kRecordedPrefixes, [&](std::string_view prefix) {
                           return name.starts_with(prefix);
                         });
  return is_listed && !is_secret;
}

std::optional<int> number(const EnvironmentMap& environment, const char* name) {
  const auto found = environment.find(name);
  const auto value = found == environment.end() ? std::nullopt : parse_int64(trim(found->second));
  if (!value || *value < 0 || *value > 100'000'000) {
    return std::nullopt;
  }
  return static_cast<int>(*value);
}

struct LauncherVariables {
  const char* launcher;
  const char* rank;
  const char* world_size;
  const char* local_size;
};

constexpr std::array kLaunchers = {
    LauncherVariables{"torchrun", "RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"},
    LauncherVariables{
        "openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    LauncherVariables{"pmi", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"},
    // Set in a step only, not in a batch script: that one runs once, on the first node.
    LauncherVariables{"slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS_PER_NODE"},
};

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

EnvironmentMap read_environment(const char* const* variables) {
  EnvironmentMap environment;
  for (; variables != nullptr && *variables != nullptr; ++variables) {
    const std::string_view entry(*variables);
    const std::size_t equals = entry.find('=');
    if (equals != std::string_view::npos) {
      environment.emplace(entry.substr(0, equals), entry.substr(equals + 1));
    }
  }
  return environment;
}

EnvironmentMap recordable_environment(const EnvironmentMap& environment) {
  EnvironmentMap recorded;
  for (const auto& [name, value] : environment) {
    if (is_recordable(name)) {
      recorded.emplace(name, value);
    }
  }
  return recorded;
}

std::optional<LauncherRanks> detect_launcher(const EnvironmentMap& environment) {
  for (const LauncherVariables& variables : kLaunchers) {
    const auto rank = number(environment, variables.rank);
    const auto world_size = number(environment, variables.world_size);
    if (rank && world_size && *world_size >= 1) {
      return LauncherRanks{
          variables.launcher, *world_size, number(environment, variables.local_size), *rank};
    }
  }
  return std::nullopt;
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
