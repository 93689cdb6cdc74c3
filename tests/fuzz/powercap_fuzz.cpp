// SPDX-License-Identifier: Apache-2.0
// Texts of sysfs and procfs, and CUDA_VISIBLE_DEVICES: any bytes give a value or none.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "joulescale/base/process_stat.h"
#include "joulescale/sensors/estimate/proc_files.h"
#include "joulescale/sensors/nvml/visible_devices.h"
#include "joulescale/sensors/perf/power_pmu.h"
#include "joulescale/sensors/powercap/zones.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto number = joulescale::parse_powercap_number(text)) {
    const auto again = joulescale::parse_powercap_number(std::to_string(*number));
    if (again != number) {
      std::abort();
    }
  }
  (void)joulescale::powercap_domain(text);
  (void)joulescale::parse_proc_stat(text);
  (void)joulescale::parse_memory_bytes(text);
  (void)joulescale::parse_cpu_list(text);
  (void)joulescale::parse_event_config(text);
  (void)joulescale::parse_memory_used_bytes(text);
  (void)joulescale::parse_process_stat(text);
  const std::vector<joulescale::GpuIdentity> gpus = {{"GPU-a1", {}}, {"GPU-a2", {"MIG-1"}}};
  const auto visible = joulescale::select_visible_gpus(std::string(text), gpus);
  if (visible.indices.size() > gpus.size()) {
    std::abort();
  }
  return 0;
}
