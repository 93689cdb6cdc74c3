// SPDX-License-Identifier: Apache-2.0
// NVIDIA GPUs through NVML: the total-energy counter first, power beside it as cross-check or,
// where there is no counter, to be integrated. GPUs are known by UUID.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "joulescale/sensors/nvml/nvml_library.h"
#include "joulescale/sensors/sensor.h"

namespace joulescale {

class NvmlSensor final : public Sensor {
 public:
  /// `library`: empty for the system's. `all_devices`: also GPUs that the command may not use.
  NvmlSensor(std::filesystem::path library,
             bool all_devices,
             std::optional<std::string> cuda_visible_devices,
             Clock& clock);

  std::string_view name() const override { return "nvml"; }
  Result<void> open() override;
  std::span<const Channel> channels() const override { return channels_; }
  std::span<const std::string> notes() const override { return notes_; }
  std::span<const DeviceInfo> devices() const override { return devices_; }
  /// Faster polling makes some drivers answer with zeros or "not supported".
  Nanoseconds min_read_period() const override { return std::chrono::milliseconds(50); }
  void read(std::span<RawReading> out) noexcept override;
  void close() noexcept override;

 private:
  Result<void> find_devices();
  void add_channels(NvmlDevice device, DeviceInfo& info);
  void measure_update_periods();

  std::filesystem::path library_file_;
  bool all_devices_;
  std::optional<std::string> cuda_visible_devices_;
  Clock& clock_;
  std::unique_ptr<NvmlLibrary> library_;
  std::vector<NvmlDevice> channel_device_;  // of each channel
  std::vector<Channel> channels_;
  std::vector<DeviceInfo> devices_;
  std::vector<std::string> notes_;
};

}  // namespace joulescale
