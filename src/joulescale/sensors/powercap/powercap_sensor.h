// SPDX-License-Identifier: Apache-2.0
// RAPL energy counters through Linux' powercap files, one channel a zone.
#pragma once

#include <filesystem>

#include "joulescale/base/kept_file.h"
#include "joulescale/sensors/powercap/zones.h"
#include "joulescale/sensors/sensor.h"

namespace joulescale {

class PowercapSensor final : public Sensor {
 public:
  /// `root` stands for "/".
  PowercapSensor(std::filesystem::path root, Clock& clock);

  std::string_view name() const override { return "powercap"; }
  Result<void> open() override;
  std::span<const Channel> channels() const override { return channels_; }
  std::span<const std::string> notes() const override { return notes_; }
  std::span<const std::string> missing() const override { return missing_; }
  std::optional<TickWatch> tick_watch() const override;
  /// A zone that was removed gives no value, one that was made anew (module reload) its new one.
  void read(std::span<RawReading> out) noexcept override;
  void close() noexcept override;

 private:
  void drop_unreadable_zones();
  void drop_mirrored_dies();
  void make_channels();

  std::filesystem::path root_;
  Clock& clock_;
  std::vector<PowercapZone> zones_;
  std::vector<KeptFile> energy_files_;  // of the zones
  std::vector<Channel> channels_;
  std::vector<std::string> notes_;
  std::vector<std::string> missing_;
};

}  // namespace joulescale
