// SPDX-License-Identifier: Apache-2.0
// A shared library with NVML's interface, as far as the product calls it, driven by a scenario file
// (scenario.h). Built twice: the second without the total-energy function, as on old drivers.
#include "tests/fakes/nvml/fake_nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

#include "tests/fakes/nvml/scenario.h"

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr int kSuccess = 0;
constexpr int kUninitialized = 1;
constexpr int kInvalidArgument = 2;
constexpr int kNotSupported = 3;
constexpr int kNotFound = 6;
constexpr int kInsufficientSize = 7;
constexpr int kGpuIsLost = 15;

struct State {
  std::mutex mutex;
  int users = 0;  // nvmlInit_v2 less nvmlShutdown, as the library counts them
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

double now_s() {
  return state().set_time_s.value_or(static_cast<double>(monotonic_ns() - state().epoch_ns) * 1e-9);
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

using What = fake_nvml::Fault::What;

/// The code of a reading call on the device as it is now; `codes`: what its scenario prescribes.
int reading_code(fake_nvml::Device& device, std::deque<fake_nvml::CodeRun>& codes, What fault) {
  if (fake_nvml::fault_at(device, What::kLost, now_s()) != nullptr) {
    return kGpuIsLost;
  }
  if (const auto* reigning = fake_nvml::fault_at(device, fault, now_s())) {
    return static_cast<int>(reigning->value);
  }
  return fake_nvml::take_code(codes);
}

/// A slow device delays its caller, nobody else.
void be_slow(void* handle) {
  double seconds = 0.0;
  {
    const std::lock_guard lock(state().mutex);
    const fake_nvml::Device* device = device_of(handle);
    if (device != nullptr) {
      const auto* slow = fake_nvml::fault_at(*device, What::kSlow, now_s());
      seconds = slow == nullptr ? device->slow_s : static_cast<double>(slow->value) * 1e-3;
    }
  }
  if (seconds > 0.0) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  }
}

/// Locks, counts the call and checks that nvmlInit_v2 came before.
class Call {
 public:
  explicit Call(const char* function) : lock_(state().mutex) { ++state().calls[function]; }
  bool ready() const { return state().users > 0; }

 private:
  std::lock_guard<std::mutex> lock_;
};

/// nvmlFieldValue_t
struct FieldValue {
  unsigned field_id;
  unsigned scope_id;
  long long timestamp_us;
  long long latency_us;
  int value_type;
  int code;
  union {
    double as_double;
    unsigned as_unsigned;
  } value;
};

/// A slow metric delays its caller, nobody else.
int metric_of(void* handle, const char* name, unsigned long long& value) {
  double seconds = 0.0;
  {
    const Call call(name);
    const fake_nvml::Device* device = device_of(handle);
    if (device == nullptr || !call.ready()) {
      return kInvalidArgument;
    }
    const auto found = device->metrics.find(name);
    if (found == device->metrics.end()) {
      return kNotSupported;
    }
    value = found->second;
    seconds = device->metrics_s;
  }
  if (seconds > 0.0) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  }
  return kSuccess;
}

int small_metric_of(void* handle, const char* name, unsigned& value) {
  unsigned long long wide = 0;
  const int code = metric_of(handle, name, wide);
  value = static_cast<unsigned>(wide);
  return code;
}

}  // namespace

// NVML's own names; its handles, which are numbers here.
// NOLINTBEGIN(readability-identifier-naming,performance-no-int-to-ptr)
FAKE_EXPORT int nvmlInit_v2() {
  const Call call("nvmlInit_v2");
  if (state().users == 0) {
    state().scenario = fake_nvml::read_scenario(own_path() + ".scenario");
    std::this_thread::sleep_for(std::chrono::milliseconds(state().scenario.init_ms));
    state().epoch_ns = state().scenario.epoch_ns.value_or(monotonic_ns());
  }
  state().users += state().scenario.init_code == kSuccess ? 1 : 0;
  return state().scenario.init_code;
}

FAKE_EXPORT int nvmlShutdown() {
  const Call call("nvmlShutdown");
  state().users = std::max(0, state().users - 1);
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
  if (fake_nvml::fault_at(state().scenario.devices[index], What::kLost, now_s()) != nullptr) {
    return kGpuIsLost;
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
  be_slow(handle);
  const Call call("nvmlDeviceGetTotalEnergyConsumption");
  fake_nvml::Device* device = device_of(handle);
  if (device == nullptr) {
    return kInvalidArgument;
  }
  if (const int code = reading_code(*device, device->energy_codes, What::kEnergyCode);
      code != kSuccess) {
    return code;
  }
  const double now = now_s();
  const bool hurried = now - device->last_energy_call_s < device->hurried_s;
  device->last_energy_call_s = now;
  if (++device->energy_calls == device->energy_zero_call || hurried) {
    *energy_mj = 0;
    return kSuccess;
  }
  const auto* raw = fake_nvml::fault_at(*device, What::kEnergyRaw, now);
  *energy_mj = raw != nullptr
                   ? raw->value
                   : fake_nvml::counter_mj(*device, fake_nvml::refreshed_s(*device, now));
  return kSuccess;
}
#endif

FAKE_EXPORT int nvmlDeviceGetPowerUsage(void* handle, unsigned* power_mw) {
  be_slow(handle);
  const Call call("nvmlDeviceGetPowerUsage");
  fake_nvml::Device* device = device_of(handle);
  if (device == nullptr) {
    return kInvalidArgument;
  }
  if (const int code = reading_code(*device, device->power_codes, What::kPowerCode);
      code != kSuccess) {
    return code;
  }
  const double now = now_s();
  if (const auto* raw = fake_nvml::fault_at(*device, What::kPowerRaw, now)) {
    *power_mw = static_cast<unsigned>(raw->value);
    return kSuccess;
  }
  *power_mw = static_cast<unsigned>(
      std::llround(device->power.power_at(fake_nvml::refreshed_s(*device, now)) * 1e3));
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
  *instance = static_cast<char*>(handle) + 1000 * (static_cast<std::size_t>(index) + 1);
  return kSuccess;
}

FAKE_EXPORT int nvmlDeviceGetFieldValues(void* handle, int count, FieldValue* values) {
  const Call call("nvmlDeviceGetFieldValues");
  fake_nvml::Device* device = device_of(handle);
  if (device == nullptr || count < 1) {
    return kInvalidArgument;
  }
  const std::int64_t wall_epoch_ns = state().scenario.wall_epoch_ns.value_or(
      std::chrono::system_clock::now().time_since_epoch().count() - monotonic_ns() +
      state().epoch_ns);
  for (FieldValue* field = values; field != values + count; ++field) {
    const bool is_there = (field->field_id == 186 && device->has_instant_field) ||
                          (field->field_id == 185 && device->has_average_field);
    const double factor = field->scope_id == 0 ? 1.0 : device->module_factor;
    const double time_s = fake_nvml::refreshed_s(*device, now_s());
    field->code = is_there && factor > 0.0 && field->scope_id <= 1
                      ? reading_code(*device, device->power_codes, What::kPowerCode)
                      : kNotSupported;
    field->timestamp_us = (wall_epoch_ns + std::llround(time_s * 1e9)) / 1000;
    field->value_type = 1;
    field->value.as_unsigned =
        static_cast<unsigned>(std::llround(device->power.power_at(time_s) * factor * 1e3));
  }
  return kSuccess;
}

FAKE_EXPORT int nvmlDeviceGetUtilizationRates(void* handle, unsigned* gpu_and_memory) {
  unsigned long long gpu = 0;
  unsigned long long memory = 0;
  const int code = metric_of(handle, "gpu_utilization", gpu);
  const int memory_code = metric_of(handle, "memory_utilization", memory);
  gpu_and_memory[0] = static_cast<unsigned>(gpu);
  gpu_and_memory[1] = memory_code == kSuccess ? static_cast<unsigned>(memory) : ~0U;
  return code;
}

FAKE_EXPORT int nvmlDeviceGetMemoryInfo(void* handle, unsigned long long* total_free_used) {
  constexpr unsigned long long kTotal = 80ULL << 30;
  const int code = metric_of(handle, "memory_used", total_free_used[2]);
  total_free_used[0] = kTotal;
  total_free_used[1] = kTotal - total_free_used[2];
  return code;
}

FAKE_EXPORT int nvmlDeviceGetClockInfo(void* handle, unsigned clock, unsigned* mhz) {
  return clock == 1 ? small_metric_of(handle, "sm_clock", *mhz) : kInvalidArgument;
}

FAKE_EXPORT int nvmlDeviceGetTemperature(void* handle, unsigned sensor, unsigned* celsius) {
  return sensor == 0 ? small_metric_of(handle, "temperature", *celsius) : kInvalidArgument;
}

FAKE_EXPORT int nvmlDeviceGetCurrentClocksEventReasons(void* handle, unsigned long long* mask) {
  return metric_of(handle, "throttle_reasons", *mask);
}

FAKE_EXPORT int nvmlDeviceGetEnforcedPowerLimit(void* handle, unsigned* limit_mw) {
  return small_metric_of(handle, "power_limit_mw", *limit_mw);
}

FAKE_EXPORT void fake_nvml_set_time(double time_s) {
  const std::lock_guard lock(state().mutex);
  state().set_time_s = time_s;
}

FAKE_EXPORT long fake_nvml_calls(const char* function) {
  const std::lock_guard lock(state().mutex);
  return state().calls[function];
}
// NOLINTEND(readability-identifier-naming,performance-no-int-to-ptr)
