// SPDX-License-Identifier: Apache-2.0
// What sysfs says of the kernel's "power" PMU (arch/x86/events/rapl.c): its events, and the CPUs on
// which each must be counted so that every package and die is counted once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "joulescale/base/error.h"
#include "joulescale/sensors/sensor.h"

namespace joulescale {

/// "0,18" or "0-3,8": the numbers. Nothing for other text, for a range that falls, and for more
/// than 65536 CPUs.
std::optional<std::vector<int>> parse_cpu_list(std::string_view text);

/// "event=0x02": the number. Nothing for other text.
std::optional<std::uint64_t> parse_event_config(std::string_view text);

struct PowerEvent {
  std::string name;  // "energy-pkg"
  Domain domain = Domain::kCpu;
  std::uint64_t config = 0;
};

/// A CPU that stands for its package, or for one of several dies in it.
struct PowerCpu {
  int cpu = 0;
  std::string silicon;  // as powercap names it: "package-0", "package-0-die-1"
  int package = 0;
  bool first_of_package = false;
};

struct PowerPmu {
  std::uint32_t type = 0;
  std::vector<PowerEvent> events;
  std::vector<PowerCpu> cpus;
  std::vector<std::string> notes;  // events left out, and why
};

/// Errors: kUnavailable if the kernel has no such PMU, kUnsupported if none of its events counts in
/// a unit that we know, kCorruptData for files that hold something else than documented.
Result<PowerPmu> find_power_pmu(const std::filesystem::path& root);

}  // namespace joulescale
