// SPDX-License-Identifier: Apache-2.0
// CUDA's driver library as far as the device check calls it: one device, GPU-00010203-..., that
// takes kernels for sm_50 only and works 5 ms on each.
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <thread>

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr int kSuccess = 0;
constexpr int kInvalidValue = 1;
constexpr int kInvalidPtx = 218;  // CUDA_ERROR_INVALID_PTX
int the_context = 0;
int the_module = 0;
int the_function = 0;
bool launched = false;

}  // namespace

FAKE_EXPORT int cuInit(unsigned flags) { return flags == 0 ? kSuccess : kInvalidValue; }

FAKE_EXPORT int cuDeviceGetCount(int* count) {
  *count = 1;
  return kSuccess;
}

FAKE_EXPORT int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return ordinal == 0 ? kSuccess : kInvalidValue;
}

FAKE_EXPORT int cuDeviceGetUuid_v2(void* uuid, int) {
  for (int i = 0; i < 16; ++i) {
    static_cast<std::uint8_t*>(uuid)[i] = static_cast<std::uint8_t>(i);
  }
  return kSuccess;
}

FAKE_EXPORT int cuDeviceGetAttribute(int* value, int attribute, int) {
  *value = 4;
  return attribute == 16 ? kSuccess : kInvalidValue;
}

FAKE_EXPORT int cuCtxCreate_v2(void** context, unsigned, int) {
  *context = &the_context;
  return kSuccess;
}

FAKE_EXPORT int cuCtxDestroy_v2(void* context) {
  return context == &the_context ? kSuccess : kInvalidValue;
}

FAKE_EXPORT int cuMemAlloc_v2(std::uint64_t* address, std::size_t size) {
  *address = 4096;
  return size == std::size_t{4} * 4 * 8 * 256 ? kSuccess : kInvalidValue;
}

FAKE_EXPORT int cuModuleLoadData(void** module, const void* image) {
  const std::string_view text(static_cast<const char*>(image));
  *module = &the_module;
  return text.starts_with(".version 6.0\n.target sm_50\n.address_size 64\n") ? kSuccess
                                                                             : kInvalidPtx;
}

FAKE_EXPORT int cuModuleGetFunction(void** function, void* module, const char* name) {
  *function = &the_function;
  return module == &the_module && std::strcmp(name, "spin") == 0 ? kSuccess : kInvalidValue;
}

FAKE_EXPORT int cuLaunchKernel(void* function,
                               unsigned blocks,
                               unsigned,
                               unsigned,
                               unsigned threads,
                               unsigned,
                               unsigned,
                               unsigned,
                               void*,
                               void** parameters,
                               void**) {
  launched = function == &the_function && blocks == 32 && threads == 256 &&
             *static_cast<std::uint64_t*>(parameters[0]) == 4096;
  return launched ? kSuccess : kInvalidValue;
}

FAKE_EXPORT int cuCtxSynchronize() {
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return launched ? kSuccess : kInvalidValue;
}
