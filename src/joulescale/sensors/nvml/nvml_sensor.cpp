// SPDX-License-Identifier: Apache-2.0
#include "joulescale/sensors/nvml/nvml_sensor.h"

#include <algorithm>

#include <fmt/format.h>

#include "joulescale/sensors/nvml/visible_devices.h"

namespace joulescale {
namespace {

constexpr Watts kDefaultPlausiblePower{4000.0};
constexpr Watts kLeastPlausiblePower{1000.0};
constexpr double kMilliwattsPerWatt = 1e3;
constexpr unsigned kNoValue32 = 0xFFFFFFFFU;
constexpr Nanoseconds kProbeInterval = std::chrono::milliseconds(10);
constexpr Nanoseconds kProbeLimit = std::chrono::milliseconds(250);
constexpr const char* kAccuracy =
    "NVIDIA states +-5 W or 5 %; published steady-state errors are -6 to +11 % (arXiv 2312.02741)";

NvmlReturn read_raw(const NvmlFunctions& nvml,
                    NvmlDevice device,
                    Quantity quantity,
                    std::uint64_t& raw) noexcept {
  if (quantity == Quantity::kEnergy) {
    if (nvml.total_energy_mj == nullptr) {
      return kNvmlFunctionNotFound;
    }
    unsigned long long energy_mj = 0;
    const NvmlReturn code = nvml.total_energy_mj(device, &energy_mj);
    raw = energy_mj;
    const bool no_value = energy_mj == ~0ULL || energy_mj == kNoValue32;
    return code == kNvmlSuccess && no_value ? kNvmlNotSupported : code;
  }
  if (nvml.power_usage_mw == nullptr) {
    return kNvmlFunctionNotFound;
  }
  unsigned power_mw = 0;
  const NvmlReturn code = nvml.power_usage_mw(device, &power_mw);
  raw = power_mw;
  return code == kNvmlSuccess && power_mw == kNoValue32 ? kNvmlNotSupported : code;
}

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

Watts plausible_power(const NvmlFunctions& nvml, NvmlDevice device) {
  unsigned least = 0;
  unsigned most = 0;
  if (nvml.power_limits_mw == nullptr ||
      nvml.power_limits_mw(device, &least, &most) != kNvmlSuccess || most == 0 ||
      most == kNoValue32) {
    return kDefaultPlausiblePower;
  }
  return std::max(Watts(2.0 * most / kMilliwattsPerWatt), kLeastPlausiblePower);
}

}  // namespace

NvmlSensor::NvmlSensor(std::filesystem::path library,
                       bool all_devices,
                       std::optional<std::string> cuda_visible_devices,
                       Clock& clock)
    : library_file_(std::move(library)),
      all_devices_(all_devices),
      cuda_visible_devices_(std::move(cuda_visible_devices)),
      clock_(clock) {}

Result<void> NvmlSensor::open() {
  close();
  JOULESCALE_TRY_ASSIGN(library_, NvmlLibrary::load(library_file_));
  if (auto found = find_devices(); !found) {
    library_.reset();
    return found;
  }
  if (!channels_.empty()) {
    measure_update_periods();
    return {};
  }
  library_.reset();
  if (!elsewhere().empty()) {
    return {};
  }
  const std::string reasons = fmt::format("{}", fmt::join(notes_, "; "));
  if (devices_.empty()) {
    return Error(ErrorCode::kUnavailable, "the NVIDIA driver lists no GPU");
  }
  return Error(ErrorCode::kUnavailable,
               reasons.empty() ? "CUDA_VISIBLE_DEVICES hides every GPU; use --devices all to "
                                 "measure them nevertheless"
                               : reasons);
}

Result<void> NvmlSensor::find_devices() {
  const NvmlFunctions& nvml = library_->functions();
  unsigned count = 0;
  if (const NvmlReturn code = nvml.device_count(&count); code != kNvmlSuccess) {
    return Error(ErrorCode::kUnavailable,
                 fmt::format("nvmlDeviceGetCount_v2 failed with code {}", code));
  }
  const std::string driver = nvml.driver_version == nullptr ? "" : nvml_text(nvml.driver_version);
  std::vector<NvmlDevice> handles;
  std::vector<GpuIdentity> identities;
  for (unsigned i = 0; i < count; ++i) {
    NvmlDevice device = nullptr;
    const NvmlReturn code = nvml.device_by_index(i, &device);
    DeviceInfo info;
    info.driver = driver;
    if (code == kNvmlSuccess) {
      info.uuid = nvml_text(
          [&](char* text, unsigned size) { return nvml.device_uuid(device, text, size); });
      if (nvml.device_name != nullptr) {
        info.model = nvml_text(
            [&](char* text, unsigned size) { return nvml.device_name(device, text, size); });
      }
    }
    if (info.uuid.empty()) {
      // The place stays, so that indices mean the same GPUs as elsewhere.
      notes_.push_back(fmt::format("GPU {} skipped: it cannot be opened (code {})", i, code));
      device = nullptr;
    }
    handles.push_back(device);
    auto& identity = identities.emplace_back(GpuIdentity{info.uuid, {}});
    if (device != nullptr) {
      identity.mig_uuids = mig_uuids(nvml, device);
    }
    info.mig = !identity.mig_uuids.empty();
    devices_.push_back(std::move(info));
  }
  const VisibleGpus visible = select_visible_gpus(cuda_visible_devices_, identities);
  if (!visible.note.empty()) {
    notes_.push_back(visible.note);
  }
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    devices_[i].visible = std::ranges::find(visible.indices, i) != visible.indices.end();
    devices_[i].measured = false;
    if (handles[i] != nullptr && (devices_[i].visible || all_devices_) &&
        may_read(devices_[i].uuid)) {
      add_channels(handles[i], devices_[i]);
    }
  }
  std::erase_if(devices_, [](const DeviceInfo& device) { return device.uuid.empty(); });
  return {};
}

void NvmlSensor::add_channels(NvmlDevice device, DeviceInfo& info) {
  const NvmlFunctions& nvml = library_->functions();
  for (const Quantity quantity : {Quantity::kEnergy, Quantity::kPower}) {
    std::uint64_t raw = 0;
    const bool is_energy = quantity == Quantity::kEnergy;
    if (const NvmlReturn code = read_raw(nvml, device, quantity, raw); code != kNvmlSuccess) {
      notes_.push_back(fmt::format(
          "{} gives no {} (code {})", info.uuid, is_energy ? "total energy" : "power", code));
      continue;
    }
    Channel channel;
    channel.name = fmt::format("nvml/{}/{}", info.uuid, is_energy ? "energy" : "power");
    channel.quantity = quantity;
    channel.behavior = is_energy ? Behavior::kCounter : Behavior::kGauge;
    channel.domain = Domain::kGpu;
    channel.unit = is_energy ? RawUnit::kMillijoule : RawUnit::kMilliwatt;
    channel.overlap_group = info.uuid;
    channel.plausible_power = plausible_power(nvml, device);
    channel.provenance = is_energy ? Provenance::kMeasured : Provenance::kIntegrated;
    channel.instrument_accuracy = kAccuracy;
    channels_.push_back(std::move(channel));
    channel_device_.push_back(device);
    info.measured = true;
  }
  if (info.mig) {
    notes_.push_back(
        fmt::format("{} is split by MIG: its energy is that of the whole GPU", info.uuid));
  }
}

void NvmlSensor::measure_update_periods() {
  const auto periods = probe_update_periods(*this, clock_, kProbeInterval, kProbeLimit);
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    channels_[i].update_period = periods[i];
  }
}

void NvmlSensor::read(std::span<RawReading> out) noexcept {
  if (library_ == nullptr) {
    return;
  }
  for (std::size_t i = 0; i < channels_.size() && i < out.size(); ++i) {
    RawReading& reading = out[i];
    reading = {};
    reading.before = clock_.monotonic_now();
    const NvmlReturn code =
        read_raw(library_->functions(), channel_device_[i], channels_[i].quantity, reading.raw);
    reading.after = clock_.monotonic_now();
    if (code == kNvmlSuccess) {
      reading.status = ReadStatus::kOk;
    } else if (code == kNvmlGpuIsLost) {
      reading.status = ReadStatus::kGone;
    }
  }
}

void NvmlSensor::close() noexcept {
  forget_claims();
  channels_.clear();
  channel_device_.clear();
  devices_.clear();
  notes_.clear();
  library_.reset();
}

}  // namespace joulescale
