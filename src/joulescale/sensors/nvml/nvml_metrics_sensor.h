// SPDX-License-Identifier: Apache-2.0
// What NVIDIA GPUs do beside taking energy: utilisation, memory, SM clock, temperature, why clocks
// are held back, power limit. Once a second, on a thread of its own; a metric that a
// GPU does not give is left out, alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "joulescale/sensors/nvml/nvml_library.h"
#include "joulescale/sensors/nvml/nvml_sensor.h"
#include "joulescale/sensors/sensor.h"

namespace joulescale {

class NvmlMetricsSensor final : public Sensor {
 public:
  /// The GPUs are those that NvmlSensor measures with the same options.
  NvmlMetricsSensor(NvmlOptions options, Clock& clock);

  std::string_view name() const override { return "nvml-metrics"; }
  Result<void> open() override;
  std::span<const Channel> channels() const override { return channels_; }
  std::span<const std::string> notes() const override { return notes_; }
  Nanoseconds min_read_period() const override { return std::chrono::seconds(1); }
  bool only_metrics() const override { return true; }
  void read(std::span<RawReading> out) noexcept override;
  void close() noexcept override;

 private:
  using ReadMetric = NvmlReturn (*)(const NvmlFunctions& nvml,
                                    NvmlDevice device,
                                    std::uint64_t& raw) noexcept;
  struct Metric {
    const char* name;
    RawUnit unit;
    ReadMetric read;
  };
  struct Source {
    NvmlDevice device = nullptr;
    ReadMetric read = nullptr;
  };
  static std::span<const Metric> metrics();
  void add_channels(const NvmlGpu& gpu);

  NvmlOptions options_;
  Clock& clock_;
  std::unique_ptr<NvmlLibrary> library_;
  std::vector<Source> sources_;  // of each channel
  std::vector<Channel> channels_;
  std::vector<std::string> notes_;
};

}  // namespace joulescale
