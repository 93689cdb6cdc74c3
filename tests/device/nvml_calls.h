// SPDX-License-Identifier: Apache-2.0
// NVML as the device check asks it: its own declarations, after nvml.h and the NVML API reference.
#pragma once

#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace nvml_calls {

using Device = struct NvmlDevice*;

inline constexpr int kSuccess = 0;
inline constexpr int kFunctionMissing = 13;  // NVML_ERROR_FUNCTION_NOT_FOUND

// nvml.h: NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION, _POWER_AVERAGE, _POWER_INSTANT, _ENERGY;
// NVML_POWER_SCOPE_GPU, _MODULE, _MEMORY.
inline constexpr unsigned kFieldTotalEnergy = 83;
inline constexpr unsigned kFieldPowerAverage = 185;
inline constexpr unsigned kFieldPowerInstant = 186;
inline constexpr unsigned kFieldEnergy = 191;
inline constexpr unsigned kScopeGpu = 0;
inline constexpr unsigned kScopeModule = 1;
inline constexpr unsigned kScopeMemory = 2;

/// nvmlFieldValue_t of nvml.h.
struct FieldValue {
  unsigned field = 0;
  unsigned scope = 0;
  long long timestamp_us = 0;  // wall clock
  long long latency_us = 0;
  int type = 0;  // nvmlValueType_t: 0 double, 1 unsigned, 2 and 3 unsigned long (long), ...
  int code = 0;
  unsigned long long raw = 0;
};
static_assert(sizeof(FieldValue) == 40);

struct Nvml {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*driver)(char* text, unsigned size) = nullptr;
  int (*version)(char* text, unsigned size) = nullptr;
  int (*count)(unsigned* count) = nullptr;
  int (*by_index)(unsigned index, Device* device) = nullptr;
  int (*uuid)(Device device, char* text, unsigned size) = nullptr;
  int (*name)(Device device, char* text, unsigned size) = nullptr;
  int (*energy)(Device device, unsigned long long* millijoules) = nullptr;
  int (*power)(Device device, unsigned* milliwatts) = nullptr;
  int (*fields)(Device device, int count, FieldValue* values) = nullptr;
  int (*mig_mode)(Device device, unsigned* current, unsigned* pending) = nullptr;
  int (*mig_count)(Device device, unsigned* count) = nullptr;
  int (*mig_by_index)(Device device, unsigned index, Device* instance) = nullptr;
};

struct Gpu {
  Device device = nullptr;
  std::string uuid;
  std::string name;
};

template <typename Function>
void resolve(void* library, const char* symbol, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, symbol));
}

[[noreturn]] inline void give_up(const std::string& reason) {
  std::fprintf(stderr, "device-check: %s\n", reason.c_str());
  std::exit(2);
}

inline Nvml load_nvml(const std::string& file) {
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    give_up("no NVIDIA GPU can be checked here: '" + file + "' cannot be loaded");
  }
  Nvml nvml;
  resolve(library, "nvmlInit_v2", nvml.init);
  resolve(library, "nvmlShutdown", nvml.shutdown);
  resolve(library, "nvmlSystemGetDriverVersion", nvml.driver);
  resolve(library, "nvmlSystemGetNVMLVersion", nvml.version);
  resolve(library, "nvmlDeviceGetCount_v2", nvml.count);
  resolve(library, "nvmlDeviceGetHandleByIndex_v2", nvml.by_index);
  resolve(library, "nvmlDeviceGetUUID", nvml.uuid);
  resolve(library, "nvmlDeviceGetName", nvml.name);
  resolve(library, "nvmlDeviceGetTotalEnergyConsumption", nvml.energy);
  resolve(library, "nvmlDeviceGetPowerUsage", nvml.power);
  resolve(library, "nvmlDeviceGetFieldValues", nvml.fields);
  resolve(library, "nvmlDeviceGetMigMode", nvml.mig_mode);
  resolve(library, "nvmlDeviceGetMaxMigDeviceCount", nvml.mig_count);
  resolve(library, "nvmlDeviceGetMigDeviceHandleByIndex", nvml.mig_by_index);
  if (nvml.init == nullptr || nvml.count == nullptr || nvml.by_index == nullptr ||
      nvml.uuid == nullptr) {
    give_up("'" + file + "' is no NVML library");
  }
  if (const int code = nvml.init(); code != kSuccess) {
    give_up("no NVIDIA GPU can be checked here: nvmlInit_v2 failed with code " +
            std::to_string(code));
  }
  return nvml;
}

template <typename Get>
std::string text_of(Get get) {
  std::array<char, 96> text{};
  return get(text.data(), static_cast<unsigned>(text.size())) == kSuccess ? text.data() : "unknown";
}

inline std::vector<Gpu> find_gpus(const Nvml& nvml) {
  unsigned count = 0;
  nvml.count(&count);
  std::vector<Gpu> gpus;
  for (unsigned i = 0; i < count; ++i) {
    Gpu gpu;
    if (nvml.by_index(i, &gpu.device) == kSuccess) {
      gpu.uuid = text_of([&](char* t, unsigned size) { return nvml.uuid(gpu.device, t, size); });
      gpu.name = nvml.name == nullptr ? "unknown" : text_of([&](char* t, unsigned size) {
        return nvml.name(gpu.device, t, size);
      });
      gpus.push_back(gpu);
    }
  }
  if (gpus.empty()) {
    give_up("no NVIDIA GPU can be checked here: the driver lists none");
  }
  return gpus;
}

/// A quantity that is polled: a value, its own time stamp where it has one, or an error code.
struct Answer {
  int code = kFunctionMissing;
  double value = 0.0;  // J or W
  std::optional<long long> timestamp_us;
};

inline double number_of(const FieldValue& field) {
  if (field.type == 0) {
    double value = 0.0;
    std::memcpy(&value, &field.raw, sizeof value);
    return value;
  }
  return static_cast<double>(field.type == 1 ? field.raw & 0xFFFFFFFFU : field.raw);
}

inline Answer ask_field(const Nvml& nvml, Device device, unsigned field, unsigned scope) {
  Answer answer;
  if (nvml.fields == nullptr) {
    return answer;
  }
  FieldValue value;
  value.field = field;
  value.scope = scope;
  answer.code = nvml.fields(device, 1, &value);
  if (answer.code == kSuccess) {
    answer.code = value.code;
    answer.value = number_of(value) * 1e-3;
    answer.timestamp_us = value.timestamp_us;
  }
  return answer;
}

inline constexpr std::array kQuantities = {
    "energy counter", "power usage", "power average (185)", "power instant (186)"};
inline constexpr std::size_t kCounter = 0;

inline Answer ask(const Nvml& nvml, Device device, std::size_t quantity) {
  Answer answer;
  switch (quantity) {
    case kCounter: {
      unsigned long long millijoules = 0;
      answer.code = nvml.energy == nullptr ? kFunctionMissing : nvml.energy(device, &millijoules);
      answer.value = static_cast<double>(millijoules) * 1e-3;
      return answer;
    }
    case 1: {
      unsigned milliwatts = 0;
      answer.code = nvml.power == nullptr ? kFunctionMissing : nvml.power(device, &milliwatts);
      answer.value = static_cast<double>(milliwatts) * 1e-3;
      return answer;
    }
    case 2:
      return ask_field(nvml, device, kFieldPowerAverage, kScopeGpu);
    default:
      return ask_field(nvml, device, kFieldPowerInstant, kScopeGpu);
  }
}

}  // namespace nvml_calls
