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
inline constexpr unsigned kNvmlNoValue32 = 0xFFFFFFFFU;
inline constexpr unsigned kNvmlClockSm = 1;
inline constexpr unsigned kNvmlTemperatureGpu = 0;

// Fields of nvmlDeviceGetFieldValues() and their scopes; in mW.
inline constexpr unsigned kNvmlFieldPowerAverage = 185;
inline constexpr unsigned kNvmlFieldPowerInstant = 186;
inline constexpr unsigned kNvmlScopeGpu = 0;
inline constexpr unsigned kNvmlScopeModule = 1;

// nvmlValueType_t
inline constexpr int kNvmlTypeDouble = 0;
inline constexpr int kNvmlTypeUnsignedInt = 1;
inline constexpr int kNvmlTypeUnsignedLong = 2;
inline constexpr int kNvmlTypeUnsignedLongLong = 3;
inline constexpr int kNvmlTypeSignedLongLong = 4;
inline constexpr int kNvmlTypeSignedInt = 5;
inline constexpr int kNvmlTypeUnsignedShort = 6;

/// nvmlFieldValue_t
struct NvmlFieldValue {
  unsigned field_id = 0;
  unsigned scope_id = 0;
  long long timestamp_us = 0;  // wall clock, of the value
  long long latency_us = 0;
  int value_type = 0;
  NvmlReturn code = 0;  // of this value
  union {
    double as_double;
    unsigned as_unsigned;
    unsigned long long as_unsigned_long_long;
    long long as_signed_long_long;
    int as_signed;
    unsigned short as_unsigned_short;
  } value{0.0};
};
static_assert(sizeof(NvmlFieldValue) == 40);

/// nvmlUtilization_t
struct NvmlUtilization {
  unsigned gpu_percent = 0;
  unsigned memory_percent = 0;
};

/// nvmlMemory_t
struct NvmlMemory {
  unsigned long long total_bytes = 0;
  unsigned long long free_bytes = 0;
  unsigned long long used_bytes = 0;  // with what the driver keeps for itself
};

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
  NvmlReturn (*field_values)(NvmlDevice device, int count, NvmlFieldValue* values) = nullptr;
  NvmlReturn (*utilization)(NvmlDevice device, NvmlUtilization* utilization) = nullptr;
  NvmlReturn (*memory)(NvmlDevice device, NvmlMemory* memory) = nullptr;
  NvmlReturn (*clock_mhz)(NvmlDevice device, unsigned clock, unsigned* mhz) = nullptr;
  NvmlReturn (*temperature_c)(NvmlDevice device, unsigned sensor, unsigned* celsius) = nullptr;
  NvmlReturn (*throttle_reasons)(NvmlDevice device, unsigned long long* mask) = nullptr;
  NvmlReturn (*power_limit_mw)(NvmlDevice device, unsigned* limit_mw) = nullptr;
  NvmlReturn (*max_mig_count)(NvmlDevice device, unsigned* count) = nullptr;
  NvmlReturn (*mig_by_index)(NvmlDevice device, unsigned index, NvmlDevice* instance) = nullptr;
};

/// Calls a function that the library may lack.
template <typename... Parameters, typename... Arguments>
NvmlReturn nvml_call(NvmlReturn (*function)(Parameters...), Arguments... arguments) noexcept {
  return function == nullptr ? kNvmlFunctionNotFound : function(arguments...);
}

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
