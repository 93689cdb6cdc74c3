// SPDX-License-Identifier: Apache-2.0
#include "joulescale/sensors/nvml/visible_devices.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "joulescale/base/text.h"

namespace joulescale {
namespace {

constexpr std::string_view kMigPrefix = "MIG-";
constexpr std::string_view kGpuPrefix = "GPU-";

/// The one GPU for which `matches` holds; nothing if there is none or more.
template <typename Matches>
std::optional<std::size_t> only_match(std::span<const GpuIdentity> gpus, Matches matches) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (matches(gpus[i])) {
      if (found) {
        return std::nullopt;
      }
      found = i;
    }
  }
  return found;
}

std::optional<std::size_t> find_gpu(std::string_view entry, std::span<const GpuIdentity> gpus) {
  if (const auto index = parse_uint64(entry)) {
    return *index < gpus.size() ? std::optional<std::size_t>(*index) : std::nullopt;
  }
  std::string_view uuid = entry;
  if (uuid.starts_with(kMigPrefix)) {
    uuid.remove_prefix(kMigPrefix.size());
    if (!uuid.starts_with(kGpuPrefix)) {  // an instance's own UUID
      return only_match(gpus, [&](const GpuIdentity& gpu) {
        return std::ranges::any_of(gpu.mig_uuids,
                                   [&](const std::string& mig) { return mig.starts_with(entry); });
      });
    }
    uuid = uuid.substr(0, uuid.find('/'));
  }
  if (!uuid.starts_with(kGpuPrefix)) {
    return std::nullopt;
  }
  return only_match(gpus, [&](const GpuIdentity& gpu) { return gpu.uuid.starts_with(uuid); });
}

}  // namespace

VisibleGpus select_visible_gpus(const std::optional<std::string>& value,
                                std::span<const GpuIdentity> gpus) {
  VisibleGpus visible;
  if (!value) {
    visible.indices.resize(gpus.size());
    std::iota(visible.indices.begin(), visible.indices.end(), std::size_t{0});
    return visible;
  }
  std::string_view rest = trim(*value);
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view entry = trim(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    const auto gpu = find_gpu(entry, gpus);
    if (!gpu) {
      visible.note = fmt::format(
          "CUDA_VISIBLE_DEVICES: '{}' names no GPU here, so CUDA hides it and all after it", entry);
      break;
    }
    if (std::ranges::find(visible.indices, *gpu) == visible.indices.end()) {
      visible.indices.push_back(*gpu);
    }
  }
  return visible;
}

}  // namespace joulescale
