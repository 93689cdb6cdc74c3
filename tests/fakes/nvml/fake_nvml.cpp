// SPDX-License-Identifier: Apache-2.0
// A shared library with NVML's interface, as far as the product calls it, driven by a scenario file
// (scenario.h). Built twice: the second without the total-energy function, as on old drivers.
#include "tests/fakes/nvml/fake_nvml.h"

#include <dlfcn.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>

#include "tests/fakes/nvml/scenario.h"

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr int kSuccess = 0;
constexpr int kUninitialized = 1;
constexpr int kInvalidArgument = 2;
constexpr int kNotSupported = 3;
constexpr int kNotFound = 6;
constexpr int kInsufficientSize = 7;

struct State {
  std::mutex mutex;
  bool initialized = false;
  fake_nvml::Scenario scenario;
  std::int64_t epoch_ns = 0;
  std::optional<double> set_time_s;
  std::map<std::string, long> calls;
};

State& state() {
  static State the_state;
  return the_state;
}

std::int64_t monotonic_ns() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

/// The curves' time at the last refresh of the device.
double refreshed_time_s(const fake_nvml::Device& device) {
  const double now_s =
      state().set_time_s.value_or(static_cast<double>(monotonic_ns() - state().epoch_ns) * 1e-9);
  return std::max(0.0, std::floor(now_s / device.update_s) * device.update_s);
}

std::string own_path() {
  Dl_info info{};
  ::dladdr(reinterpret_cast<void*>(&own_path), &info);
  return info.dli_fname == nullptr ? "" : info.dli_fname;
}

int copy_text(const std::string& text, char* buffer, unsigned size) {
  if (text.size() + 1 > size) {
    return kInsufficientSize;
  }
  std::memcpy(buffer, text.c_str(), text.size() + 1);
  return kSuccess;
}

/// Handles: devices count from 1; an instance of device d is d + 1000 x (number + 1).
fake_nvml::Device* device_of(void* handle) {
  const auto number = reinterpret_cast<std::uintptr_t>(handle) % 1000;
  auto& devices = state().scenario.devices;
  return number >= 1 && number <= devices.size() ? &devices[number - 1] : nullptr;
}

/// Locks, counts the call and checks that nvmlInit_v2 came before.
class Call {
 public:
  explicit Call(const char* function) : lock_(state().mutex) { ++state().calls[function]; }
  bool ready() const { return state().initialized; }

 private:
  std::lock_guard<std::mutex> lock_;
};

}  // namespace

FAKE_EXPORT int nvmlInit_v2() {
  const Call call("nvmlInit_v2");
  state().scenario = fake_nvml::read_scenario(own_path() + ".scenario");
  state().epoch_ns = state().scenario.epoch_ns.value_or(monotonic_ns());
  state().initialized = state().scenario.init_code == kSuccess;
  return state().scenario.init_code;
}

FAKE_EXPORT int nvmlShutdown() {
  const Call call("nvmlShutdown");
  state().initialized = false;
  return kSuccess;
}

FAKE_EXPORT int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  const Call call("nvmlSystemGetDriverVersion");
  return call.ready() ? copy_text(state().scenario.driver, text, size) : kUninitialized;
}

FAKE_EXPORT int nvmlDeviceGetCount_v2(unsigned* count) {
  const Call call("nvmlDeviceGetCount_v2");
  *count = static_cast<unsigned>(state().scenario.devices.size());
  return call.ready() ? kSuccess : kUninitialized;
}

FAKE_EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  const Call call("nvmlDeviceGetHandleByIndex_v2");
  if (index >= state().scenario.devices.size()) {
    return kInvalidArgument;
  }
  *device = reinterpret_cast<void*>(static_cast<std::uintptr_t>(index) + 1);
  return call.ready() ? kSuccess : kUninitialized;
}

FAKE_EXPORT int nvmlDeviceGetUUID(void* handle, char* text, unsigned size) {
  const Call call("nvmlDeviceGetUUID");
  const fake_nvml::Device* device = device_of(handle);
  if (device == nullptr) {
    return kInvalidArgument;
  }
  const auto instance = reinterpret_cast<std::uintptr_t>(handle) / 1000;
  return copy_text(instance == 0 ? device->uuid : device->migs.at(instance - 1), text, size);
}

FAKE_EXPORT int nvmlDeviceGetName(void* handle, char* text, unsigned size) {
  const Call call("nvmlDeviceGetName");
  const fake_nvml::Device* device = device_of(handle);
  return device == nullptr ? kInvalidArgument : copy_text(device->model, text, size);
}

#ifndef FAKE_NVML_WITHOUT_ENERGY
FAKE_EXPORT int nvmlDeviceGetTotalEnergyConsumption(void* handle, unsigned long long* energy_mj) {
  const Call call("nvmlDeviceGetTotalEnergyConsumption");
  fake_nvml::Device* device = device_of(handle);
  if (device == nullptr) {
    return kInvalidArgument;
  }
  if (const int code = fake_nvml::take_code(device->energy_codes); code != kSuccess) {
    return code;
  }
  if (++device->energy_calls == device->energy_zero_call) {
    *energy_mj = 0;
    return kSuccess;
  }
  const double energy_j = fake_nvml::energy_at(*device, refreshed_time_s(*device));
  *energy_mj = device->start_mj + static_cast<unsigned long long>(std::llround(energy_j * 1e3));
  return kSuccess;
}
#endif

FAKE_EXPORT int nvmlDeviceGetPowerUsage(void* handle, unsigned* power_mw) {
  const Call call("nvmlDeviceGetPowerUsage");
  fake_nvml::Device* device = device_of(handle);
  if (device == nullptr) {
    return kInvalidArgument;
  }
  if (const int code = fake_nvml::take_code(device->power_codes); code != kSuccess) {
    return code;
  }
  *power_mw = static_cast<unsigned>(
      std::llround(fake_nvml::power_at(*device, refreshed_time_s(*device)) * 1e3));
  return kSuccess;
}

FAKE_EXPORT int nvmlDeviceGetPowerManagementLimitConstraints(void* handle,
                                                             unsigned* least_mw,
                                                             unsigned* most_mw) {
  const Call call("nvmlDeviceGetPowerManagementLimitConstraints");
  const fake_nvml::Device* device = device_of(handle);
  if (device == nullptr || device->limit_w == 0) {
    return kNotSupported;
  }
  *least_mw = 1000;
  *most_mw = device->limit_w * 1000;
  return kSuccess;
}

FAKE_EXPORT int nvmlDeviceGetMaxMigDeviceCount(void* handle, unsigned* count) {
  const Call call("nvmlDeviceGetMaxMigDeviceCount");
  const fake_nvml::Device* device = device_of(handle);
  *count = device == nullptr ? 0 : static_cast<unsigned>(device->migs.size());
  return kSuccess;
}

FAKE_EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(void* handle, unsigned index, void** instance) {
  const Call call("nvmlDeviceGetMigDeviceHandleByIndex");
  const fake_nvml::Device* device = device_of(handle);
  if (device == nullptr || index >= device->migs.size()) {
    return kNotFound;
  }
  *instance = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(handle) +
                                      1000 * (static_cast<std::uintptr_t>(index) + 1));
  return kSuccess;
}

FAKE_EXPORT void fake_nvml_set_time(double time_s) {
  const std::lock_guard lock(state().mutex);
  state().set_time_s = time_s;
}

FAKE_EXPORT long fake_nvml_calls(const char* function) {
  const std::lock_guard lock(state().mutex);
  return state().calls[function];
}
