// SPDX-License-Identifier: Apache-2.0
#include "joulescale/sensors/nvml/nvml_devices.h"

#include <algorithm>

#include <fmt/format.h>

#include "joulescale/sensors/nvml/visible_devices.h"

namespace joulescale {
namespace {

std::vector<std::string> mig_uuids(const NvmlFunctions& nvml, NvmlDevice device) {
  std::vector<std::string> uuids;
  unsigned count = 0;
  if (nvml.max_mig_count == nullptr || nvml.mig_by_index == nullptr ||
      nvml.max_mig_count(device, &count) != kNvmlSuccess) {
    return uuids;
  }
  for (unsigned i = 0; i < count; ++i) {
    NvmlDevice instance = nullptr;
    if (nvml.mig_by_index(device, i, &instance) != kNvmlSuccess) {
      continue;
    }
    std::string uuid = nvml_text(
        [&](char* text, unsigned size) { return nvml.device_uuid(instance, text, size); });
    if (!uuid.empty()) {
      uuids.push_back(std::move(uuid));
    }
  }
  return uuids;
}

/// `code`: why it cannot be opened, where `device` stays empty.
NvmlGpu gpu_at(const NvmlFunctions& nvml, unsigned index, NvmlReturn& code) {
  NvmlGpu gpu;
  gpu.info.measured = false;
  code = nvml.device_by_index(index, &gpu.device);
  if (code == kNvmlSuccess) {
    gpu.info.uuid = nvml_text(
        [&](char* text, unsigned size) { return nvml.device_uuid(gpu.device, text, size); });
    if (nvml.device_name != nullptr) {
      gpu.info.model = nvml_text(
          [&](char* text, unsigned size) { return nvml.device_name(gpu.device, text, size); });
    }
  }
  if (gpu.info.uuid.empty()) {
    gpu.device = nullptr;
  }
  return gpu;
}

}  // namespace

Result<std::vector<NvmlGpu>> find_nvml_gpus(const NvmlFunctions& nvml,
                                            const std::optional<std::string>& cuda_visible_devices,
                                            std::vector<std::string>& notes,
                                            std::vector<std::string>& missing) {
  unsigned count = 0;
  if (const NvmlReturn code = nvml.device_count(&count); code != kNvmlSuccess) {
    return Error(ErrorCode::kUnavailable,
                 fmt::format("nvmlDeviceGetCount_v2 failed with code {}", code));
  }
  const std::string driver = nvml.driver_version == nullptr ? "" : nvml_text(nvml.driver_version);
  std::vector<NvmlGpu> gpus;
  std::vector<NvmlReturn> codes(count, kNvmlSuccess);
  std::vector<GpuIdentity> identities;
  for (unsigned i = 0; i < count; ++i) {
    // One that cannot be opened keeps its place until the selection is made, so that indices mean
    // the same GPUs as elsewhere.
    NvmlGpu& gpu = gpus.emplace_back(gpu_at(nvml, i, codes[i]));
    gpu.info.driver = driver;
    auto& identity = identities.emplace_back(GpuIdentity{gpu.info.uuid, {}});
    if (gpu.device != nullptr) {
      identity.mig_uuids = mig_uuids(nvml, gpu.device);
    }
    gpu.info.mig = !identity.mig_uuids.empty();
  }
  const VisibleGpus visible = select_visible_gpus(cuda_visible_devices, identities);
  if (!visible.note.empty()) {
    notes.push_back(visible.note);
  }
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    gpus[i].info.visible = std::ranges::find(visible.indices, i) != visible.indices.end();
    if (gpus[i].device == nullptr) {
      (gpus[i].info.visible ? missing : notes)
          .push_back(fmt::format("GPU {} cannot be opened (code {})", i, codes[i]));
    }
  }
  std::erase_if(gpus, [](const NvmlGpu& gpu) { return gpu.device == nullptr; });
  return gpus;
}

}  // namespace joulescale
