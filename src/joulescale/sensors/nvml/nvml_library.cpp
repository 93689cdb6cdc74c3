// SPDX-License-Identifier: Apache-2.0
#include "joulescale/sensors/nvml/nvml_library.h"

#include <dlfcn.h>

#include <fmt/format.h>

namespace joulescale {
namespace {

constexpr const char* kSystemLibrary = "libnvidia-ml.so.1";

template <typename Function>
void resolve(void* handle, const char* symbol, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(handle, symbol));
}

NvmlFunctions resolve_all(void* handle) {
  NvmlFunctions functions;
  resolve(handle, "nvmlInit_v2", functions.init);
  resolve(handle, "nvmlShutdown", functions.shutdown);
  resolve(handle, "nvmlSystemGetDriverVersion", functions.driver_version);
  resolve(handle, "nvmlDeviceGetCount_v2", functions.device_count);
  resolve(handle, "nvmlDeviceGetHandleByIndex_v2", functions.device_by_index);
  resolve(handle, "nvmlDeviceGetUUID", functions.device_uuid);
  resolve(handle, "nvmlDeviceGetName", functions.device_name);
  resolve(handle, "nvmlDeviceGetTotalEnergyConsumption", functions.total_energy_mj);
  resolve(handle, "nvmlDeviceGetPowerUsage", functions.power_usage_mw);
  resolve(handle, "nvmlDeviceGetPowerManagementLimitConstraints", functions.power_limits_mw);
  resolve(handle, "nvmlDeviceGetFieldValues", functions.field_values);
  resolve(handle, "nvmlDeviceGetUtilizationRates", functions.utilization);
  resolve(handle, "nvmlDeviceGetMemoryInfo", functions.memory);
  resolve(handle, "nvmlDeviceGetClockInfo", functions.clock_mhz);
  resolve(handle, "nvmlDeviceGetTemperature", functions.temperature_c);
  resolve(handle, "nvmlDeviceGetCurrentClocksEventReasons", functions.throttle_reasons);
  if (functions.throttle_reasons == nullptr) {  // its name before 2023
    resolve(handle, "nvmlDeviceGetCurrentClocksThrottleReasons", functions.throttle_reasons);
  }
  resolve(handle, "nvmlDeviceGetEnforcedPowerLimit", functions.power_limit_mw);
  resolve(handle, "nvmlDeviceGetMaxMigDeviceCount", functions.max_mig_count);
  resolve(handle, "nvmlDeviceGetMigDeviceHandleByIndex", functions.mig_by_index);
  return functions;
}

Error init_error(NvmlReturn code, const std::string& name) {
  switch (code) {
    case kNvmlDriverNotLoaded:
      return Error(
          ErrorCode::kUnavailable,
          fmt::format("'{}': the NVIDIA driver is not loaded; run 'modprobe nvidia' as root, "
                      "or start the container with '--gpus all'",
                      name));
    case kNvmlNoPermission:
      return Error(ErrorCode::kPermission,
                   fmt::format("'{}': no permission to talk to the driver; run 'chmod a+rw "
                               "/dev/nvidia*' as root, or join the group that 'ls -l "
                               "/dev/nvidia*' names",
                               name));
    case kNvmlVersionMismatch:
      return Error(ErrorCode::kIo,
                   fmt::format("'{}': library and kernel driver differ in version; reboot, or run "
                               "'modprobe -r nvidia_uvm nvidia_drm nvidia_modeset nvidia && "
                               "modprobe nvidia' as root with no program on the GPUs",
                               name));
    default:
      return Error(
          ErrorCode::kIo,
          fmt::format(
              "'{}': nvmlInit_v2 failed with code {}; see that nvidia-smi works", name, code));
  }
}

}  // namespace

Result<std::unique_ptr<NvmlLibrary>> NvmlLibrary::load(const std::filesystem::path& file) {
  const std::string name = file.empty() ? kSystemLibrary : file.native();
  void* handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = ::dlerror();
    return Error(
        ErrorCode::kUnavailable,
        fmt::format("NVIDIA's library is not there ({}); install the NVIDIA driver, start a "
                    "container with '--gpus all', or name the library with "
                    "--nvml-library",
                    reason == nullptr ? name : reason));
  }
  const NvmlFunctions functions = resolve_all(handle);
  if (functions.init == nullptr || functions.shutdown == nullptr ||
      functions.device_count == nullptr || functions.device_by_index == nullptr ||
      functions.device_uuid == nullptr) {
    ::dlclose(handle);
    return Error(ErrorCode::kUnsupported,
                 fmt::format("'{}' lacks functions that every NVML since 2012 has; install a newer "
                             "driver",
                             name));
  }
  if (const NvmlReturn code = functions.init(); code != kNvmlSuccess) {
    ::dlclose(handle);
    return init_error(code, name);
  }
  return std::unique_ptr<NvmlLibrary>(new NvmlLibrary(handle, functions));
}

NvmlLibrary::~NvmlLibrary() {
  functions_.shutdown();
  ::dlclose(handle_);
}

}  // namespace joulescale
