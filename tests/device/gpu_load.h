// SPDX-License-Identifier: Apache-2.0
// A load for one GPU without any toolkit: a small PTX kernel through CUDA's driver API, which every
// NVIDIA driver brings as libcuda.so.1.
#pragma once

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace gpu_load {

/// Chains of fused multiply-adds, and one store so that they are not left out. The first line must
/// name a PTX version and a target.
inline constexpr const char* kKernel = R"(
.address_size 64
.visible .entry spin(.param .u64 out, .param .u32 rounds)
{
  .reg .pred %p<2>;
  .reg .f32 %f<8>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r1, [rounds];
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mad.lo.u32 %r5, %r3, %r4, %r2;
  cvt.rn.f32.u32 %f1, %r2;
  mov.f32 %f2, 0f3F000000;
  mov.f32 %f3, 0f3E800000;
  mov.f32 %f4, 0f3E000000;
  mov.f32 %f5, 0f3F7FFFF0;
  mov.f32 %f6, 0f3F800000;
  mov.u32 %r6, 0;
LOOP:
  fma.rn.f32 %f1, %f1, %f5, %f6;
  fma.rn.f32 %f2, %f2, %f5, %f6;
  fma.rn.f32 %f3, %f3, %f5, %f6;
  fma.rn.f32 %f4, %f4, %f5, %f6;
  add.u32 %r6, %r6, 1;
  setp.lt.u32 %p1, %r6, %r1;
  @%p1 bra LOOP;
  add.f32 %f1, %f1, %f2;
  add.f32 %f3, %f3, %f4;
  add.f32 %f1, %f1, %f3;
  cvta.to.global.u64 %rd2, %rd1;
  mul.wide.u32 %rd3, %r5, 4;
  add.s64 %rd4, %rd2, %rd3;
  st.global.f32 [%rd4], %f1;
  ret;
}
)";
/// The newest first: drivers drop old targets, old GPUs lack new ones.
inline constexpr std::array kTargets = {".version 6.3\n.target sm_75",
                                        ".version 6.0\n.target sm_50"};

class Cuda {
 public:
  /// Finds the devices that CUDA shows, in its own order. Without the library there are none.
  explicit Cuda(const std::string& library) {
    handle_ = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) {
      reason_ = "'" + library + "' cannot be loaded";
      return;
    }
    int (*init)(unsigned) = nullptr;
    int (*count_devices)(int*) = nullptr;
    int (*device_get)(int*, int) = nullptr;
    int (*get_uuid)(void*, int) = nullptr;
    if (!find("cuInit", init) || !find("cuDeviceGetCount", count_devices) ||
        !find("cuDeviceGet", device_get) ||
        (!find("cuDeviceGetUuid_v2", get_uuid) && !find("cuDeviceGetUuid", get_uuid)) ||
        failed("cuInit", init(0))) {
      return;
    }
    reason_.clear();
    int count = 0;
    if (failed("cuDeviceGetCount", count_devices(&count))) {
      return;
    }
    for (int i = 0; i < count; ++i) {
      int device = 0;
      std::array<std::uint8_t, 16> bytes{};
      if (device_get(&device, i) == 0 && get_uuid(bytes.data(), device) == 0) {
        uuids_.push_back(uuid_text(bytes));
      }
    }
    if (uuids_.empty()) {
      reason_ = "CUDA shows no device";
    }
  }
  ~Cuda() { stop_load(); }
  Cuda(const Cuda&) = delete;
  Cuda& operator=(const Cuda&) = delete;

  const std::vector<std::string>& uuids() const { return uuids_; }
  /// Why there is no device or no load; empty while all is well. Not while the load runs.
  const std::string& reason() const { return reason_; }

  /// Loads CUDA's first device until stop_load(). False if that cannot be done.
  bool start_load() {
    if (handle_ == nullptr || uuids_.empty()) {
      return false;
    }
    thread_ = std::thread([this] { run(); });
    while (state_ == State::kStarting) {
      std::this_thread::yield();
    }
    if (state_ == State::kFailed) {
      thread_.join();
      return false;
    }
    return true;
  }
  void stop_load() {
    stop_ = true;
    if (thread_.joinable()) {
      thread_.join();
    }
  }

 private:
  enum class State { kStarting, kRunning, kFailed };

  template <typename Function>
  bool find(const char* symbol, Function*& function) {
    function = reinterpret_cast<Function*>(::dlsym(handle_, symbol));
    if (function == nullptr) {
      reason_ = std::string("the CUDA library has no ") + symbol;
    }
    return function != nullptr;
  }
  bool failed(const char* call, int code) {
    if (code != 0) {
      reason_ = std::string(call) + " failed with code " + std::to_string(code);
    }
    return code != 0;
  }
  static std::string uuid_text(const std::array<std::uint8_t, 16>& bytes) {
    std::string text = "GPU-";
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      std::array<char, 4> hex{};
      std::snprintf(hex.data(), hex.size(), "%02x", static_cast<unsigned>(bytes[i]));
      text += (i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "") + std::string(hex.data());
    }
    return text;
  }

  void run() {
    if (!launch_until_stopped() && state_ == State::kStarting) {
      state_ = State::kFailed;
    }
  }

  bool launch_until_stopped() {
    constexpr int kMultiprocessorCount = 16;  // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
    constexpr unsigned kThreads = 256;
    constexpr unsigned kBlocksEach = 8;
    int (*device_get)(int*, int) = nullptr;
    int (*attribute)(int*, int, int) = nullptr;
    int (*create)(void**, unsigned, int) = nullptr;
    int (*destroy)(void*) = nullptr;
    int (*allocate)(std::uint64_t*, std::size_t) = nullptr;
    int (*load)(void**, const void*) = nullptr;
    int (*function)(void**, void*, const char*) = nullptr;
    int (*launch)(void*,
                  unsigned,
                  unsigned,
                  unsigned,
                  unsigned,
                  unsigned,
                  unsigned,
                  unsigned,
                  void*,
                  void**,
                  void**) = nullptr;
    int (*synchronize)() = nullptr;
    if (!find("cuDeviceGet", device_get) || !find("cuDeviceGetAttribute", attribute) ||
        !find("cuCtxCreate_v2", create) || !find("cuCtxDestroy_v2", destroy) ||
        !find("cuMemAlloc_v2", allocate) || !find("cuModuleLoadData", load) ||
        !find("cuModuleGetFunction", function) || !find("cuLaunchKernel", launch) ||
        !find("cuCtxSynchronize", synchronize)) {
      return false;
    }
    int device = 0;
    int multiprocessors = 0;
    void* context = nullptr;
    if (failed("cuDeviceGet", device_get(&device, 0)) ||
        failed("cuDeviceGetAttribute", attribute(&multiprocessors, kMultiprocessorCount, device)) ||
        failed("cuCtxCreate_v2", create(&context, 0, device))) {
      return false;
    }
    const unsigned blocks = static_cast<unsigned>(multiprocessors) * kBlocksEach;
    std::uint64_t out = 0;
    void* module = nullptr;
    void* kernel = nullptr;
    int loaded = 1;
    for (const char* target : kTargets) {
      if (loaded != 0) {
        const std::string text = std::string(target) + kKernel;
        loaded = load(&module, text.c_str());
      }
    }
    unsigned rounds = 400'000;  // tens of milliseconds: short enough to end soon
    std::array<void*, 2> parameters = {&out, &rounds};
    bool good = !failed("cuModuleLoadData", loaded) &&
                !failed("cuModuleGetFunction", function(&kernel, module, "spin")) &&
                !failed("cuMemAlloc_v2", allocate(&out, std::size_t{4} * blocks * kThreads));
    while (good && !stop_) {
      good =
          !failed(
              "cuLaunchKernel",
              launch(
                  kernel, blocks, 1, 1, kThreads, 1, 1, 0, nullptr, parameters.data(), nullptr)) &&
          !failed("cuCtxSynchronize", synchronize());
      if (good) {
        state_ = State::kRunning;
      }
    }
    destroy(context);  // frees what was allocated in it
    return good;
  }

  void* handle_ = nullptr;
  std::vector<std::string> uuids_;
  std::string reason_;
  std::thread thread_;
  std::atomic<bool> stop_{false};
  std::atomic<State> state_{State::kStarting};
};

}  // namespace gpu_load
