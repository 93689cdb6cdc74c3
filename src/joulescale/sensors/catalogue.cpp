// SPDX-License-Identifier: Apache-2.0
#include "joulescale/sensors/catalogue.h"

#include <array>

#include "joulescale/sensors/nvml/nvml_metrics_sensor.h"
#include "joulescale/sensors/nvml/nvml_sensor.h"
#include "joulescale/sensors/perf/perf_sensor.h"
#include "joulescale/sensors/powercap/powercap_sensor.h"

namespace joulescale {

std::vector<std::unique_ptr<Sensor>> make_sensors(const SourceOptions& options, Clock& clock) {
  std::vector<std::unique_ptr<Sensor>> sensors;
  sensors.push_back(std::make_unique<PowercapSensor>(options.root, clock));
  const bool is_this_machine = options.root.lexically_normal() == "/";
  sensors.push_back(std::make_unique<PerfSensor>(
      options.root, is_this_machine ? &system_perf_events() : nullptr, clock));
  const NvmlOptions nvml{options.nvml_library,
                         options.devices == DeviceChoice::kAll,
                         options.cuda_visible_devices,
                         options.force_rate};
  sensors.push_back(std::make_unique<NvmlSensor>(nvml, clock));
  sensors.push_back(std::make_unique<EstimateSensor>(
      options.root, std::set{Domain::kCpu, Domain::kDram}, options.estimate, clock));
  sensors.push_back(std::make_unique<NvmlMetricsSensor>(nvml, clock));
  sensors.push_back(std::make_unique<LoadSensor>(options.root, options.processes, clock));
  return sensors;
}

std::span<const UnbuiltSource> unbuilt_sources() {
  static constexpr std::array kSources = {
      UnbuiltSource{"amdsmi", "AMD GPU energy through AMD SMI"},
      UnbuiltSource{"hwmon", "power of Grace and other modules through hwmon"},
      UnbuiltSource{"cray", "node, CPU, memory and accelerator energy through pm_counters"},
      UnbuiltSource{"slurm", "the scheduler's own job energy"},
  };
  return kSources;
}

}  // namespace joulescale
