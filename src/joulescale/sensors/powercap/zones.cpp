// SPDX-License-Identifier: Apache-2.0
#include "joulescale/sensors/powercap/zones.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "joulescale/base/file.h"
#include "joulescale/base/text.h"

namespace joulescale {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxDepth = 4;
constexpr int kMostConstraints = 4;
constexpr double kMicrowattsPerWatt = 1e6;

bool is_zone_id(std::string_view name) { return name.find(':') != std::string_view::npos; }

/// Collects zone directories by their name, so that a zone that is reachable flat and nested
/// counts once.
void collect(const fs::path& directory, int depth, std::map<std::string, fs::path>& found) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().native();
    std::error_code ignored;
    if (!entry.is_directory(ignored)) {
      continue;
    }
    const bool is_control_type = depth == 0 && !is_zone_id(name);
    if (is_zone_id(name)) {
      found.emplace(name, entry.path());
    }
    if ((is_zone_id(name) || is_control_type) && depth < kMaxDepth) {
      collect(entry.path(), depth + 1, found);
    }
  }
}

std::string parent_id(std::string_view id) {
  const std::size_t last = id.rfind(':');
  const std::size_t first = id.find(':');
  return first == last ? std::string() : std::string(id.substr(0, last));
}

/// The kernel numbers the constraints from 0 without gaps.
std::optional<Watts> largest_constraint(const fs::path& zone) {
  std::optional<Watts> largest;
  bool is_there = true;
  for (int i = 0; is_there && i < kMostConstraints; ++i) {
    is_there = false;
    for (const char* kind : {"max_power_uw", "power_limit_uw"}) {
      const auto text = read_small_file(zone / fmt::format("constraint_{}_{}", i, kind));
      is_there = is_there || text;
      const auto microwatts = text ? parse_powercap_number(*text) : std::nullopt;
      if (microwatts && *microwatts > 0) {
        const Watts power(static_cast<double>(*microwatts) / kMicrowattsPerWatt);
        largest = largest ? std::max(*largest, power) : power;
      }
    }
  }
  return largest;
}

/// MSR zones before their MMIO mirrors, else by name.
std::vector<std::string> ordered_ids(const std::map<std::string, fs::path>& found) {
  std::vector<std::string> ids;
  ids.reserve(found.size());
  for (const auto& [id, path] : found) {
    ids.push_back(id);
  }
  std::ranges::sort(ids, {}, [](const std::string& id) {
    return std::pair(id.find("mmio") != std::string::npos, id);
  });
  return ids;
}

}  // namespace

std::optional<std::uint64_t> parse_powercap_number(std::string_view text) {
  if (text.ends_with('\n')) {
    text.remove_suffix(1);
  }
  return parse_uint64(text);
}

std::optional<Domain> powercap_domain(std::string_view zone_name) {
  if (zone_name.starts_with("package-")) {
    return Domain::kCpu;
  }
  if (zone_name == "dram") {
    return Domain::kDram;
  }
  if (zone_name == "core") {
    return Domain::kCpuCore;
  }
  if (zone_name == "uncore") {
    return Domain::kCpuUncore;
  }
  if (zone_name.starts_with("psys")) {
    return Domain::kPlatform;
  }
  return std::nullopt;
}

PowercapZones find_powercap_zones(const fs::path& root) {
  std::map<std::string, fs::path> found;
  for (const char* base : {"sys/class/powercap", "sys/devices/virtual/powercap"}) {
    if (found.empty()) {
      collect(root / base, 0, found);
    }
  }
  PowercapZones result;
  std::map<std::string, std::string> names;  // by id
  for (const auto& [id, directory] : found) {
    names[id] = read_small_file(directory / "name").value_or("");
  }
  std::map<std::string, std::string> id_of_name;
  for (const std::string& id : ordered_ids(found)) {
    const fs::path& directory = found.at(id);
    const std::string& name = names[id];
    const auto domain = powercap_domain(name);
    if (!domain) {
      result.notes.push_back(fmt::format("zone {} ignored: its name '{}' is not known", id, name));
      continue;
    }
    const auto parent = names.find(parent_id(id));
    std::string full_name =
        parent == names.end() ? name : fmt::format("{}/{}", parent->second, name);
    if (const auto [first, is_new] = id_of_name.emplace(full_name, id); !is_new) {
      result.notes.push_back(fmt::format(
          "zone {} ignored: the same silicon as {} ('{}')", id, first->second, full_name));
      continue;
    }
    PowercapZone& zone = result.zones.emplace_back();
    zone.id = id;
    zone.full_name = std::move(full_name);
    zone.domain = *domain;
    zone.energy_file = directory / "energy_uj";
    const auto range = read_small_file(directory / "max_energy_range_uj");
    zone.range_uj = range ? parse_powercap_number(*range) : std::nullopt;
    if (zone.range_uj == 0U) {
      zone.range_uj.reset();
    }
    zone.max_power = largest_constraint(directory);
  }
  return result;
}

}  // namespace joulescale
