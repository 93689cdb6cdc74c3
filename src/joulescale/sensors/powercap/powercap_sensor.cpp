// SPDX-License-Identifier: Apache-2.0
#include "joulescale/sensors/powercap/powercap_sensor.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "joulescale/base/unique_fd.h"

namespace joulescale {
namespace {

constexpr Watts kDefaultPlausiblePower{4000.0};
constexpr Watts kPlatformPlausiblePower{20000.0};
constexpr Watts kLeastPlausiblePower{1000.0};
constexpr Nanoseconds kProbeInterval = std::chrono::microseconds(500);
constexpr Nanoseconds kProbeLimit = std::chrono::milliseconds(60);

/// The counter, or the errno of the failure (EBADMSG for text that is no number).
struct EnergyText {
  std::optional<std::uint64_t> value;
  int error = 0;
};

EnergyText read_energy(const std::filesystem::path& file) noexcept {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) {
    return {std::nullopt, errno};
  }
  std::array<char, 32> buffer{};
  const ssize_t count = ::pread(fd.get(), buffer.data(), buffer.size(), 0);
  if (count < 0) {
    return {std::nullopt, errno};
  }
  const auto value = parse_powercap_number({buffer.data(), static_cast<std::size_t>(count)});
  return {value, value ? 0 : EBADMSG};
}

std::string reason_of(int error) {
  if (error == EACCES || error == EPERM) {
    return "permission denied; run 'chmod a+r' on its energy_uj as root, or start as root";
  }
  if (error == EBADMSG) {
    return "energy_uj holds no number";
  }
  return fmt::format("energy_uj cannot be read: {}", std::strerror(error));
}

bool is_die(const PowercapZone& zone) { return zone.full_name.find("-die-") != std::string::npos; }

std::string package_of_die(const PowercapZone& zone) {
  return zone.full_name.substr(0, zone.full_name.find("-die-"));
}

/// Whether two dies show one counter (as on some AMD parts): read a, b, a twice; b always lies
/// between the two values of a, and the counter moves in the meantime.
bool is_mirror(const PowercapZone& a, const PowercapZone& b, Clock& clock) {
  std::optional<std::uint64_t> earlier;
  for (int round = 0; round < 2; ++round) {
    const auto first = read_energy(a.energy_file).value;
    const auto between = read_energy(b.energy_file).value;
    const auto second = read_energy(a.energy_file).value;
    if (!first || !between || !second || *between < *first || *between > *second) {
      return false;
    }
    if (earlier) {
      return *first > *earlier;
    }
    earlier = first;
    clock.sleep_until(clock.monotonic_now() + std::chrono::milliseconds(10));
  }
  return false;
}

}  // namespace

PowercapSensor::PowercapSensor(std::filesystem::path root, Clock& clock)
    : root_(std::move(root)), clock_(clock) {}

Result<void> PowercapSensor::open() {
  close();
  PowercapZones found = find_powercap_zones(root_);
  zones_ = std::move(found.zones);
  notes_ = std::move(found.notes);
  if (zones_.empty()) {
    return Error(ErrorCode::kUnavailable,
                 fmt::format("no RAPL zones in '{}'; a virtual machine or container hides them, a "
                             "kernel without intel_rapl_common has none: mount /sys/class/powercap "
                             "into the container, or load the module",
                             (root_ / "sys/class/powercap").native()));
  }
  drop_unreadable_zones();
  if (zones_.empty()) {
    return Error(ErrorCode::kPermission,
                 fmt::format("no RAPL zone in '{}' is readable: {}",
                             (root_ / "sys/class/powercap").native(),
                             fmt::join(notes_, "; ")));
  }
  if (!may_read("powercap")) {
    return {};
  }
  drop_mirrored_dies();
  make_channels();
  const auto periods = probe_update_periods(*this, clock_, kProbeInterval, kProbeLimit);
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    channels_[i].update_period = periods[i];
  }
  return {};
}

void PowercapSensor::drop_unreadable_zones() {
  std::erase_if(zones_, [&](const PowercapZone& zone) {
    const EnergyText text = read_energy(zone.energy_file);
    if (!text.value) {
      notes_.push_back(
          fmt::format("zone {} ('{}'): {}", zone.id, zone.full_name, reason_of(text.error)));
    }
    return !text.value;
  });
}

void PowercapSensor::drop_mirrored_dies() {
  std::vector<PowercapZone> kept;
  for (PowercapZone& zone : zones_) {
    const auto mirror = std::ranges::find_if(kept, [&](const PowercapZone& other) {
      return is_die(zone) && is_die(other) && package_of_die(zone) == package_of_die(other) &&
             zone.full_name.ends_with("/dram") == other.full_name.ends_with("/dram") &&
             zone.domain == other.domain && is_mirror(other, zone, clock_);
    });
    if (mirror == kept.end()) {
      kept.push_back(std::move(zone));
    } else {
      notes_.push_back(
          fmt::format("zone {} ignored: it shows the same counter as {}", zone.id, mirror->id));
    }
  }
  zones_ = std::move(kept);
}

void PowercapSensor::make_channels() {
  for (const PowercapZone& zone : zones_) {
    Channel& channel = channels_.emplace_back();
    channel.name = "powercap/" + zone.full_name;
    channel.domain = zone.domain;
    // Sub-zones but dram lie inside their package.
    const bool inside = zone.domain == Domain::kCpuCore || zone.domain == Domain::kCpuUncore;
    channel.overlap_group =
        inside ? zone.full_name.substr(0, zone.full_name.find('/')) : zone.full_name;
    channel.counter_range = zone.range_uj;
    channel.plausible_power =
        zone.domain == Domain::kPlatform ? kPlatformPlausiblePower : kDefaultPlausiblePower;
    if (zone.max_power) {
      channel.plausible_power = std::max(*zone.max_power * 2.0, kLeastPlausiblePower);
    }
    channel.instrument_accuracy = "unknown: Intel and AMD state none";
    if (!zone.range_uj) {
      notes_.push_back(
          fmt::format("zone {} ('{}'): max_energy_range_uj is not readable, so a wrap of its "
                      "counter cannot be told from a reset",
                      zone.id,
                      zone.full_name));
    }
  }
}

void PowercapSensor::read(std::span<RawReading> out) noexcept {
  for (std::size_t i = 0; i < zones_.size() && i < out.size(); ++i) {
    out[i] = {};
    out[i].before = clock_.monotonic_now();
    const EnergyText text = read_energy(zones_[i].energy_file);
    out[i].after = clock_.monotonic_now();
    if (text.value) {
      out[i].raw = *text.value;
      out[i].status = ReadStatus::kOk;
    }
  }
}

void PowercapSensor::close() noexcept {
  forget_claims();
  zones_.clear();
  channels_.clear();
  notes_.clear();
}

}  // namespace joulescale
