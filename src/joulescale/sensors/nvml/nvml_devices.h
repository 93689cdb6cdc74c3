// SPDX-License-Identifier: Apache-2.0
// The GPUs that NVML lists, and which of them the command may use.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "joulescale/sensors/nvml/nvml_library.h"
#include "joulescale/sensors/sensor.h"

namespace joulescale {

struct NvmlGpu {
  NvmlDevice device = nullptr;
  DeviceInfo info;  // `measured` is not set
};

/// Those that can be opened, in NVML's order. What a user should know is added to `notes`,
/// and to `missing` the GPUs that the command may use and nobody can open.
/// `cuda_visible_devices`: absent where the variable is not set.
Result<std::vector<NvmlGpu>> find_nvml_gpus(const NvmlFunctions& nvml,
                                            const std::optional<std::string>& cuda_visible_devices,
                                            std::vector<std::string>& notes,
                                            std::vector<std::string>& missing);

}  // namespace joulescale
