// SPDX-License-Identifier: Apache-2.0
// The device a rank computes on. CUDA comes from a library of its own, loaded only when asked for,
// so that CPU work needs no CUDA.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "joulescale/base/error.h"

namespace joulescale {

struct CudaLibrary;

class Device {
 public:
  /// `name`: "cpu" or "cuda"; on CUDA the rank takes the GPU number local_rank (modulo the visible
  /// ones). To be called before anything else touches torch. Errors (kInvalidArgument) say what is
  /// missing.
  static Result<Device> open(std::string_view name, int local_rank);

  bool is_cuda() const { return cuda_ != nullptr; }
  int index() const { return index_; }
  /// As marks call it: "cpu_rank" or "gpu".
  std::string_view kind() const { return is_cuda() ? "gpu" : "cpu_rank"; }
  /// NVML's UUID ("GPU-…"); empty for a CPU.
  const std::string& uuid() const { return uuid_; }
  /// Waits until all work given to the device is done.
  void synchronize() const;

  const CudaLibrary* cuda() const { return cuda_; }

 private:
  const CudaLibrary* cuda_ = nullptr;  // lives as long as the process
  int index_ = 0;
  std::string uuid_;
};

}  // namespace joulescale
