// SPDX-License-Identifier: Apache-2.0
// The powercap tree (Linux Documentation/power/powercap/powercap.rst) as a list of zones to read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "joulescale/base/error.h"
#include "joulescale/base/units.h"
#include "joulescale/sensors/sensor.h"

namespace joulescale {

/// The text of energy_uj or max_energy_range_uj: digits and a line end, nothing else.
std::optional<std::uint64_t> parse_powercap_number(std::string_view text);

/// The domain of a zone by the text of its `name` file; nothing for a name we do not know.
std::optional<Domain> powercap_domain(std::string_view zone_name);

struct PowercapZone {
  std::string id;         // directory name, "intel-rapl:0:1"
  std::string full_name;  // "package-0" or, below a package, "package-0/dram"
  Domain domain = Domain::kCpu;
  std::filesystem::path energy_file;
  std::optional<std::uint64_t> range_uj;
  std::optional<Watts> max_power;  // the largest of its constraints
};

struct PowercapZones {
  std::vector<PowercapZone> zones;
  std::vector<std::string> notes;  // zones left out, and why
};

/// Finds the zones below <root>/sys/class/powercap, flat or nested. Zones of one full name (the
/// MSR and MMIO views of the same silicon) are kept once, the MSR one first.
PowercapZones find_powercap_zones(const std::filesystem::path& root);

}  // namespace joulescale
