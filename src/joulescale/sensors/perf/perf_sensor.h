// SPDX-License-Identifier: Apache-2.0
// RAPL energy counters through perf's "power" PMU, for machines on which powercap's files are for
// root only. It meters the same silicon as powercap: its overlap groups are powercap's, so that a
// joule counts once, whichever processes read which of the two.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "joulescale/sensors/perf/perf_events.h"
#include "joulescale/sensors/perf/power_pmu.h"
#include "joulescale/sensors/sensor.h"

namespace joulescale {

class PerfSensor final : public Sensor {
 public:
  /// `root` stands for "/" for what is read from sysfs and procfs. `events`: null where the root is
  /// not this machine's, since a system call would show this machine; it must outlive the sensor.
  PerfSensor(std::filesystem::path root, PerfEvents* events, Clock& clock);
  ~PerfSensor() override { close(); }
  PerfSensor(const PerfSensor&) = delete;
  PerfSensor& operator=(const PerfSensor&) = delete;

  std::string_view name() const override { return "perf"; }
  Result<void> open() override;
  std::span<const Channel> channels() const override { return channels_; }
  std::span<const std::string> notes() const override { return notes_; }
  std::optional<TickWatch> tick_watch() const override;
  /// Counts begin with open(): a process that goes on for another shows a reset.
  void read(std::span<RawReading> out) noexcept override;
  void close() noexcept override;

 private:
  Result<void> open_events(const PowerPmu& pmu);
  void add_channel(const PowerEvent& event, const PowerCpu& cpu);
  Error refused(int error) const;

  std::filesystem::path root_;
  PerfEvents* events_;
  Clock& clock_;
  std::vector<int> opened_;  // of each channel
  std::vector<Channel> channels_;
  std::vector<std::string> notes_;
};

}  // namespace joulescale
