// SPDX-License-Identifier: Apache-2.0
#include "joulescale/sensors/nvml/visible_devices.h"

#include <algorithm>
#include <numeric>
#include <set>

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

enum class Kind { kIndex, kGpu, kMig };

Kind kind_of(std::string_view entry) {
  return entry.starts_with(kGpuPrefix)   ? Kind::kGpu
         : entry.starts_with(kMigPrefix) ? Kind::kMig
                                         : Kind::kIndex;
}

/// What strtoul() makes of it: the digits that it begins with ("1abc" is 1).
std::optional<std::uint64_t> leading_number(std::string_view entry) {
  if (entry.starts_with('+')) {
    entry.remove_prefix(1);
  }
  return parse_uint64(entry.substr(0, entry.find_first_not_of("0123456789")));
}

std::optional<std::size_t> find_gpu(std::string_view entry, std::span<const GpuIdentity> gpus) {
  if (kind_of(entry) == Kind::kIndex) {
    const auto index = leading_number(entry);
    return index && *index < gpus.size() ? index : std::nullopt;
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
  const Kind kind = kind_of(rest);
  std::set<std::string_view> entries;
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view entry = trim(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    const auto gpu = kind_of(entry) == kind ? find_gpu(entry, gpus) : std::nullopt;
    if (!gpu) {
      visible.note = fmt::format(
          "CUDA_VISIBLE_DEVICES: '{}' names no GPU here, so CUDA hides it and all after it", entry);
      break;
    }
    const bool is_new = std::ranges::find(visible.indices, *gpu) == visible.indices.end();
    if (kind == Kind::kMig ? !entries.insert(entry).second : !is_new) {
      visible.indices.clear();
      visible.note = fmt::format("CUDA_VISIBLE_DEVICES names '{}' twice, so CUDA hides all", entry);
      break;
    }
    if (is_new) {
      visible.indices.push_back(*gpu);
    }
  }
  return visible;
}

bool names_gpus(const std::optional<std::string>& value) {
  return value && !trim(*value).empty() && *value != "-1" && *value != "NoDevFiles";
}

}  // namespace joulescale
