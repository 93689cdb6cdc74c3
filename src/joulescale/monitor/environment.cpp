// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/environment.h"

#include <algorithm>
#include <array>
#include <string_view>

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

}  // namespace joulescale
