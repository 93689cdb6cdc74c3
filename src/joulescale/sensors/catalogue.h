// SPDX-License-Identifier: Apache-2.0
// The explicit list of energy sources: those of this version, and those of the design that are not
// built in it.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "joulescale/sensors/estimate/estimate_sensor.h"
#include "joulescale/sensors/load/load_sensor.h"
#include "joulescale/sensors/sensor.h"

namespace joulescale {

enum class DeviceChoice {
  kVisible,  // the GPUs that the command may use
  kAll,      // every GPU of the node
};

struct SourceOptions {
  std::filesystem::path root = "/";    // stands for "/" for every file-based source
  std::filesystem::path nvml_library;  // empty: libnvidia-ml.so.1 of the system
  DeviceChoice devices = DeviceChoice::kVisible;
  /// The value of CUDA_VISIBLE_DEVICES; absent: the variable is not set.
  std::optional<std::string> cuda_visible_devices;
  EstimateOptions estimate;
  /// The processes whose load is read; absent: that of the node alone.
  std::optional<RankProcesses> processes;
  bool force_rate = false;  // read sources as often as asked, even if a driver may not like it
};

/// The sources of this version, not yet open: powercap, perf, NVML, the estimate, and metrics.
/// powercap and perf show the same counters and one of them counts. The estimate always runs; its
/// values count only for domains in which no counter gave one. perf needs a root that is "/".
std::vector<std::unique_ptr<Sensor>> make_sensors(const SourceOptions& options, Clock& clock);

struct UnbuiltSource {
  std::string_view name;
  std::string_view measures;
};
/// Sources of the design without code in this version.
std::span<const UnbuiltSource> unbuilt_sources();

}  // namespace joulescale
