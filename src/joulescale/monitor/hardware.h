// SPDX-License-Identifier: Apache-2.0
// The node's hardware, as run.json's `hardware` names it.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include "joulescale/record/run_record.h"
#include "joulescale/sensors/sensor.h"

namespace joulescale {

/// From <root>/proc/cpuinfo, <root>/proc/meminfo and the GPUs found.
HardwareRecord read_hardware(const std::filesystem::path& root, std::span<const DeviceInfo> gpus);

/// The CPU part, from the text of /proc/cpuinfo.
HardwareRecord parse_cpuinfo(std::string_view text);

}  // namespace joulescale
