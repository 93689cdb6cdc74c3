// SPDX-License-Identifier: Apache-2.0
// libjoulescale_cuda.so: the only code that links CUDA and NCCL.
#include "joulescale/parallel/cuda/cuda_library.h"

#include <cuda_runtime_api.h>

#include <utility>

#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

namespace joulescale {
namespace {

int device_count() { return c10::cuda::device_count(); }

void select_device(int index) { c10::cuda::set_device(static_cast<c10::DeviceIndex>(index)); }

void synchronize(int index) {
  select_device(index);
  c10::cuda::device_synchronize();
}

std::string device_uuid(int index) {
  cudaDeviceProp properties{};
  C10_CUDA_CHECK(cudaGetDeviceProperties(&properties, index));
  std::string hex;
  for (const char byte : properties.uuid.bytes) {
    hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  }
  return fmt::format("GPU-{}-{}-{}-{}-{}",
                     hex.substr(0, 8),
                     hex.substr(8, 4),
                     hex.substr(12, 4),
                     hex.substr(16, 4),
                     hex.substr(20));
}

void add_nccl_backend(c10d::ProcessGroup& group,
                      c10d::Store& store,
                      std::chrono::milliseconds timeout) {
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = timeout;
  auto shared_store = c10::intrusive_ptr<c10d::Store>::unsafe_reclaim_from_nonowning(&store);
  auto backend = c10::make_intrusive<c10d::ProcessGroupNCCL>(
      std::move(shared_store), group.getRank(), group.getSize(), std::move(options));
  group.setBackend(c10::DeviceType::CUDA,
                   c10d::ProcessGroup::BackendType::NCCL,
                   std::optional<c10::intrusive_ptr<c10d::Backend>>(
                       c10::static_intrusive_pointer_cast<c10d::Backend>(std::move(backend))));
}

constexpr CudaLibrary kLibrary = {
    .device_count = device_count,
    .select_device = select_device,
    .synchronize = synchronize,
    .device_uuid = device_uuid,
    .add_nccl_backend = add_nccl_backend,
};

}  // namespace
}  // namespace joulescale

extern "C" __attribute__((visibility("default"))) const joulescale::CudaLibrary*
joulescale_cuda_library() {
  return &joulescale::kLibrary;
}
