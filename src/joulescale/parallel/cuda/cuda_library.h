// SPDX-License-Identifier: Apache-2.0
// What the trainer asks of CUDA, as functions of a shared library that is loaded at run time
// (libjoulescale_cuda.so). Free of torch and of CUDA.
#pragma once

#include <chrono>
#include <string>

namespace c10d {
class ProcessGroup;
class Store;
}  // namespace c10d

namespace joulescale {

/// Functions throw what torch throws. Device numbers count the visible GPUs from 0.
struct CudaLibrary {
  int (*device_count)();
  void (*select_device)(int index);
  void (*synchronize)(int index);
  /// NVML's form, "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx".
  std::string (*device_uuid)(int index);
  /// Gives the group an NCCL backend for tensors on GPUs.
  void (*add_nccl_backend)(c10d::ProcessGroup& group,
                           c10d::Store& store,
                           std::chrono::milliseconds timeout);
};

/// The one symbol of the library: `const CudaLibrary* joulescale_cuda_library()`.
inline constexpr const char* kCudaLibrarySymbol = "joulescale_cuda_library";
inline constexpr const char* kCudaLibraryFile = "libjoulescale_cuda.so";

}  // namespace joulescale
