// SPDX-License-Identifier: Apache-2.0
// The "power" PMU of a fake machine: its sysfs files below a root, and counters behind the system
// call that a test sets.
#pragma once

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "joulescale/sensors/perf/perf_events.h"

namespace joulescale::testing {

/// Not thread safe.
class FakePerfEvents final : public PerfEvents {
 public:
  static constexpr std::uint32_t kType = 17;

  int open(std::uint32_t pmu_type, std::uint64_t config, int cpu) noexcept override {
    if (error != 0 || pmu_type != kType) {
      return error != 0 ? -error : -ENOENT;
    }
    const std::pair key(config, cpu);
    if (refused == key) {
      return -ENODEV;
    }
    open_.emplace(next_, std::pair(key, raw_[key]));
    return next_++;
  }
  std::optional<std::uint64_t> read(int event) noexcept override {
    const auto found = open_.find(event);
    if (found == open_.end() || broken) {
      return std::nullopt;
    }
    const auto& [key, begin] = found->second;
    return raw_[key] - begin;  // counts from the opening, as the kernel does
  }
  void close(int event) noexcept override { open_.erase(event); }

  /// Joules of event `config` on `cpu`; they count from when the event is opened.
  void set_joules(std::uint64_t config, int cpu, double joules) {
    raw_[{config, cpu}] = static_cast<std::uint64_t>(joules * 0x1p32);
  }
  std::size_t num_open() const { return open_.size(); }

  int error = 0;                                         // of every open()
  std::optional<std::pair<std::uint64_t, int>> refused;  // event and CPU that fail with ENODEV
  bool broken = false;                                   // reads give nothing

 private:
  using Key = std::pair<std::uint64_t, int>;
  std::map<Key, std::uint64_t> raw_;
  std::map<int, std::pair<Key, std::uint64_t>> open_;
  int next_ = 100;
};

inline void write_text(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::trunc) << text;
}

inline std::filesystem::path power_pmu(const std::filesystem::path& root) {
  return root / "sys/bus/event_source/devices/power";
}

inline void add_power_event(const std::filesystem::path& root,
                            const std::string& name,
                            std::uint64_t config) {
  const auto events = power_pmu(root) / "events";
  write_text(events / name, "event=0x0" + std::to_string(config) + "\n");
  write_text(events / (name + ".unit"), "Joules\n");
  write_text(events / (name + ".scale"), "2.3283064365386962890625e-10\n");
}

/// A PMU without events on the given CPUs.
inline void add_power_pmu(const std::filesystem::path& root, const std::string& cpumask) {
  write_text(power_pmu(root) / "type", std::to_string(FakePerfEvents::kType) + "\n");
  write_text(power_pmu(root) / "cpumask", cpumask + "\n");
}

inline void add_cpu(const std::filesystem::path& root, int cpu, int package, int die = 0) {
  const auto topology = root / ("sys/devices/system/cpu/cpu" + std::to_string(cpu)) / "topology";
  write_text(topology / "physical_package_id", std::to_string(package) + "\n");
  write_text(topology / "die_id", std::to_string(die) + "\n");
}

}  // namespace joulescale::testing
