// SPDX-License-Identifier: Apache-2.0
#include "joulescale/sensors/catalogue.h"

#include <array>

#include "joulescale/sensors/nvml/nvml_sensor.h"
#include "joulescale/sensors/powercap/powercap_sensor.h"

namespace joulescale {

std::vector<std::unique_ptr<Sensor>> make_sensors(const SourceOptions& options, Clock& clock) {
  std::vector<std::unique_ptr<Sensor>> sensors;
  sensors.push_back(std::make_unique<PowercapSensor>(options.root, clock));
  sensors.push_back(std::make_unique<NvmlSensor>(options.nvml_library,
                                                 options.devices == DeviceChoice::kAll,
                                                 options.cuda_visible_devices,
                                                 clock));
  sensors.push_back(std::make_unique<EstimateSensor>(
      options.root, std::set{Domain::kCpu, Domain::kDram}, options.estimate, clock));
  return sensors;
}

std::span<const UnbuiltSource> unbuilt_sources() {
  static constexpr std::array kSources = {
      UnbuiltSource{"perf", "CPU and DRAM energy through perf energy events"},
      UnbuiltSource{"amdsmi", "AMD GPU energy through AMD SMI"},
      UnbuiltSource{"hwmon", "power of Grace and other modules through hwmon"},
      UnbuiltSource{"cray", "node, CPU, memory and accelerator energy through pm_counters"},
      UnbuiltSource{"slurm", "the scheduler's own job energy"},
  };
  return kSources;
}

}  // namespace joulescale
