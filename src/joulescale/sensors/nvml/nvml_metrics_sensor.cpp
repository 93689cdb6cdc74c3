// SPDX-License-Identifier: Apache-2.0
#include "joulescale/sensors/nvml/nvml_metrics_sensor.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "joulescale/sensors/nvml/nvml_devices.h"
#include "joulescale/sensors/nvml/nvml_power.h"

namespace joulescale {
namespace {

/// The bits of nvmlDeviceGetCurrentClocksEventReasons (NVML API reference,
/// "nvmlClocksEventReasons").
const std::map<std::string, std::string>& throttle_bit_names() {
  static const std::map<std::string, std::string> kNames = {{"0", "gpu_idle"},
                                                            {"1", "applications_clocks_setting"},
                                                            {"2", "sw_power_cap"},
                                                            {"3", "hw_slowdown"},
                                                            {"4", "sync_boost"},
                                                            {"5", "sw_thermal_slowdown"},
                                                            {"6", "hw_thermal_slowdown"},
                                                            {"7", "hw_power_brake_slowdown"},
                                                            {"8", "display_clock_setting"}};
  return kNames;
}

/// For NVML functions that give one unsigned number.
NvmlReturn checked(NvmlReturn code, unsigned value, std::uint64_t& raw) noexcept {
  raw = value;
  return code == kNvmlSuccess && value == kNvmlNoValue32 ? kNvmlNotSupported : code;
}

template <unsigned NvmlUtilization::* kPart>
NvmlReturn read_utilization(const NvmlFunctions& nvml,
                            NvmlDevice device,
                            std::uint64_t& raw) noexcept {
  NvmlUtilization utilization;
  const NvmlReturn code = nvml_call(nvml.utilization, device, &utilization);
  return checked(code, utilization.*kPart, raw);
}

NvmlReturn read_memory_used(const NvmlFunctions& nvml,
                            NvmlDevice device,
                            std::uint64_t& raw) noexcept {
  NvmlMemory memory;
  const NvmlReturn code = nvml_call(nvml.memory, device, &memory);
  raw = memory.used_bytes;
  return code == kNvmlSuccess && memory.used_bytes > memory.total_bytes ? kNvmlNotSupported : code;
}

/// A function of one unsigned number, and what selects it.
template <auto kFunction, unsigned... kSelector>
NvmlReturn read_unsigned(const NvmlFunctions& nvml,
                         NvmlDevice device,
                         std::uint64_t& raw) noexcept {
  unsigned value = 0;
  const NvmlReturn code = nvml_call(nvml.*kFunction, device, kSelector..., &value);
  return checked(code, value, raw);
}

NvmlReturn read_throttle_reasons(const NvmlFunctions& nvml,
                                 NvmlDevice device,
                                 std::uint64_t& raw) noexcept {
  unsigned long long mask = 0;
  const NvmlReturn code = nvml_call(nvml.throttle_reasons, device, &mask);
  raw = mask;
  return code == kNvmlSuccess && mask == ~0ULL ? kNvmlNotSupported : code;
}

}  // namespace

std::span<const NvmlMetricsSensor::Metric> NvmlMetricsSensor::metrics() {
  static constexpr std::array kMetrics = {
      Metric{"gpu_utilization", RawUnit::kPercent, read_utilization<&NvmlUtilization::gpu_percent>},
      Metric{"memory_utilization",
             RawUnit::kPercent,
             read_utilization<&NvmlUtilization::memory_percent>},
      Metric{"memory_used", RawUnit::kByte, read_memory_used},
      Metric{
          "sm_clock", RawUnit::kMegahertz, read_unsigned<&NvmlFunctions::clock_mhz, kNvmlClockSm>},
      Metric{"temperature",
             RawUnit::kCelsius,
             read_unsigned<&NvmlFunctions::temperature_c, kNvmlTemperatureGpu>},
      Metric{"throttle_reasons", RawUnit::kBitMask, read_throttle_reasons},
      Metric{"power_limit", RawUnit::kMilliwatt, read_unsigned<&NvmlFunctions::power_limit_mw>},
  };
  return kMetrics;
}

NvmlMetricsSensor::NvmlMetricsSensor(NvmlOptions options, Clock& clock)
    : options_(std::move(options)), clock_(clock) {}

Result<void> NvmlMetricsSensor::open() {
  close();
  JOULESCALE_TRY_ASSIGN(library_, NvmlLibrary::load(options_.library));
  auto gpus = find_nvml_gpus(library_->functions(), options_.cuda_visible_devices, notes_, notes_);
  if (!gpus) {
    library_.reset();
    return std::move(gpus).error();
  }
  for (const NvmlGpu& gpu : *gpus) {
    // A name of its own: who reads a GPU's energy and who its metrics may differ.
    if ((gpu.info.visible || options_.all_devices) && may_read("metrics-" + gpu.info.uuid)) {
      add_channels(gpu);
    }
  }
  if (!channels_.empty()) {
    return {};
  }
  library_.reset();
  if (!elsewhere().empty()) {
    return {};
  }
  return Error(
      ErrorCode::kUnavailable,
      notes_.empty() ? "no GPU to read metrics of" : fmt::format("{}", fmt::join(notes_, "; ")));
}

void NvmlMetricsSensor::add_channels(const NvmlGpu& gpu) {
  for (const Metric& metric : metrics()) {
    std::uint64_t raw = 0;
    if (const NvmlReturn code = metric.read(library_->functions(), gpu.device, raw);
        code != kNvmlSuccess) {
      notes_.push_back(fmt::format("{} gives no {} (code {})", gpu.info.uuid, metric.name, code));
      continue;
    }
    Channel& channel = channels_.emplace_back();
    channel.name = fmt::format("nvml/{}/{}", gpu.info.uuid, metric.name);
    channel.quantity = Quantity::kMetric;
    channel.behavior = Behavior::kGauge;
    channel.domain = Domain::kGpu;
    channel.unit = metric.unit;
    channel.overlap_group = channel.name;
    if (metric.unit == RawUnit::kBitMask) {
      channel.inputs = throttle_bit_names();
    }
    sources_.push_back({gpu.device, metric.read});
  }
}

void NvmlMetricsSensor::read(std::span<RawReading> out) noexcept {
  if (library_ == nullptr) {
    return;
  }
  for (std::size_t i = 0; i < channels_.size() && i < out.size(); ++i) {
    RawReading& reading = out[i];
    reading = {};
    reading.before = clock_.monotonic_now();
    const NvmlReturn code =
        sources_[i].read(library_->functions(), sources_[i].device, reading.raw);
    reading.after = clock_.monotonic_now();
    reading.status = read_status_of(code);
  }
}

void NvmlMetricsSensor::close() noexcept {
  forget_claims();
  channels_.clear();
  sources_.clear();
  notes_.clear();
  library_.reset();
}

}  // namespace joulescale
