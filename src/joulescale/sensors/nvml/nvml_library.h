// SPDX-License-Identifier: Apache-2.0
// NVIDIA's management library, loaded at run time: the part of its C interface that we call,
// declared here (NVML API reference), so that the build needs no header of NVIDIA's.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "joulescale/base/error.h"

namespace joulescale {

struct NvmlDeviceHandle;  // opaque: nvmlDevice_t is a pointer to it
using NvmlDevice = NvmlDeviceHandle*;
using NvmlReturn = int;

inline constexpr NvmlReturn kNvmlSuccess = 0;
inline constexpr NvmlReturn kNvmlNotSupported = 3;
inline constexpr NvmlReturn kNvmlNoPermission = 4;
inline constexpr NvmlReturn kNvmlDriverNotLoaded = 9;
inline constexpr NvmlReturn kNvmlFunctionNotFound = 13;
inline constexpr NvmlReturn kNvmlGpuIsLost = 15;
inline constexpr NvmlReturn kNvmlVersionMismatch = 18;
inline constexpr unsigned kNvmlTextSize = 96;  // the largest buffer that NVML names for UUIDs

/// The functions, null where the library has none of that name.
struct NvmlFunctions {
  NvmlReturn (*init)() = nullptr;
  NvmlReturn (*shutdown)() = nullptr;
  NvmlReturn (*driver_version)(char* text, unsigned size) = nullptr;
  NvmlReturn (*device_count)(unsigned* count) = nullptr;
  NvmlReturn (*device_by_index)(unsigned index, NvmlDevice* device) = nullptr;
  NvmlReturn (*device_uuid)(NvmlDevice device, char* text, unsigned size) = nullptr;
  NvmlReturn (*device_name)(NvmlDevice device, char* text, unsigned size) = nullptr;
  /// mJ since the driver was loaded.
  NvmlReturn (*total_energy_mj)(NvmlDevice device, unsigned long long* energy_mj) = nullptr;
  NvmlReturn (*power_usage_mw)(NvmlDevice device, unsigned* power_mw) = nullptr;
  NvmlReturn (*power_limits_mw)(NvmlDevice device, unsigned* least, unsigned* most) = nullptr;
  NvmlReturn (*max_mig_count)(NvmlDevice device, unsigned* count) = nullptr;
  NvmlReturn (*mig_by_index)(NvmlDevice device, unsigned index, NvmlDevice* instance) = nullptr;
};

/// The loaded and initialised library; shut down and unloaded at the end of its life.
class NvmlLibrary {
 public:
  /// `file`: empty for libnvidia-ml.so.1 of the system. Errors say what to do.
  static Result<std::unique_ptr<NvmlLibrary>> load(const std::filesystem::path& file);
  ~NvmlLibrary();
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;

  const NvmlFunctions& functions() const { return functions_; }

 private:
  NvmlLibrary(void* handle, const NvmlFunctions& functions)
      : handle_(handle), functions_(functions) {}
  void* handle_;
  NvmlFunctions functions_;
};

/// A text of NVML: what `get(buffer, size)` wrote, or "" if it failed.
template <typename Get>
std::string nvml_text(Get get) {
  std::string text(kNvmlTextSize, '\0');
  if (get(text.data(), kNvmlTextSize) != kNvmlSuccess) {
    return {};
  }
  text.resize(text.find('\0') == std::string::npos ? text.size() : text.find('\0'));
  return text;
}

}  // namespace joulescale
