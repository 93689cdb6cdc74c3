// SPDX-License-Identifier: Apache-2.0
// NVIDIA GPUs through NVML: the total-energy counter first, power beside it as cross-check or,
// where there is no counter, to be integrated (nvml_power.h). GPUs are known by UUID.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "joulescale/sensors/nvml/nvml_devices.h"
#include "joulescale/sensors/nvml/nvml_library.h"
#include "joulescale/sensors/nvml/nvml_power.h"
#include "joulescale/sensors/sensor.h"

namespace joulescale {

struct NvmlOptions {
  std::filesystem::path library;  // empty: libnvidia-ml.so.1 of the system
  bool all_devices = false;       // also GPUs that the command may not use
  /// The value of CUDA_VISIBLE_DEVICES; absent: the variable is not set.
  std::optional<std::string> cuda_visible_devices = std::nullopt;
  bool force_rate = false;  // read as often as asked, even if the driver may not like it
};

class NvmlSensor final : public Sensor {
 public:
  NvmlSensor(NvmlOptions options, Clock& clock);

  std::string_view name() const override { return "nvml"; }
  Result<void> open() override;
  std::span<const Channel> channels() const override { return channels_; }
  std::span<const std::string> notes() const override { return notes_; }
  std::span<const std::string> missing() const override { return missing_; }
  std::span<const DeviceInfo> devices() const override { return devices_; }
  /// Faster polling makes some drivers answer with zeros or "not supported".
  Nanoseconds min_read_period() const override {
    return std::chrono::milliseconds(options_.force_rate ? 0 : 50);
  }
  std::optional<TickWatch> tick_watch() const override;
  void read(std::span<RawReading> out) noexcept override;
  void close() noexcept override;

 private:
  /// Of a channel: the power, else the energy counter.
  struct Source {
    NvmlDevice device = nullptr;
    std::optional<NvmlPower> power;
  };

  Result<void> find_devices();
  void add_channels(NvmlGpu& gpu);
  std::optional<NvmlPower> find_power(NvmlDevice device, unsigned scope, NvmlReturn& code);
  void add_module_channel(NvmlGpu& gpu, const std::optional<NvmlPower>& gpu_power);
  Channel& add_channel(NvmlGpu& gpu, std::string_view name, const std::optional<NvmlPower>& power);
  RawReading read_counter(NvmlDevice device) const noexcept;

  NvmlOptions options_;
  Clock& clock_;
  std::unique_ptr<NvmlLibrary> library_;
  std::vector<Source> sources_;  // of each channel
  std::vector<Channel> channels_;
  std::vector<DeviceInfo> devices_;
  std::vector<std::string> notes_;
  std::vector<std::string> missing_;
};

}  // namespace joulescale
