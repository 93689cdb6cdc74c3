// SPDX-License-Identifier: Apache-2.0
#include "joulescale/sensors/powercap/powercap_sensor.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <set>

#include <fmt/format.h>

#include "joulescale/sensors/rapl.h"

namespace joulescale {
namespace {

constexpr Watts kLeastPlausiblePower{1000.0};
constexpr int kMirrorRounds = 8;
constexpr int kMostMirrorMisses = 3;  // a counter may be read just as it goes round
constexpr int kMostRetries = 3;
constexpr Nanoseconds kRetryPause = std::chrono::milliseconds(5);
constexpr Nanoseconds kMirrorPause = std::chrono::milliseconds(10);

/// The counter, or the errno of the failure (EBADMSG for text that is no number).
struct EnergyText {
  std::optional<std::uint64_t> value;
  int error = 0;
};

EnergyText read_energy(KeptFile& file, Nanoseconds now) noexcept {
  std::array<char, 32> buffer{};
  const ssize_t count = file.read(buffer, now);
  if (count < 0) {
    return {std::nullopt, errno};
  }
  const auto value = parse_powercap_number({buffer.data(), static_cast<std::size_t>(count)});
  return {value, value ? 0 : EBADMSG};
}

EnergyText read_energy(const std::filesystem::path& path) {
  KeptFile file(path);
  return read_energy(file, Nanoseconds(0));
}

bool is_refusal(int error) { return error == EACCES || error == EPERM; }

/// A failure that passes must not cost the whole run.
EnergyText read_energy_patiently(const std::filesystem::path& path, Clock& clock) {
  EnergyText text = read_energy(path);
  for (int again = 0; again < kMostRetries && !text.value && !is_refusal(text.error); ++again) {
    clock.sleep_until(clock.monotonic_now() + kRetryPause);
    text = read_energy(path);
  }
  return text;
}

/// Files of the powercap class are for root only since Linux 5.10 (CVE-2020-8694).
std::string how_to_permit(const std::filesystem::path& folder) {
  return fmt::format(
      "as root run 'chmod a+r {}/*/energy_uj' (until the next boot; for good put "
      "'SUBSYSTEM==\"powercap\", ACTION==\"add\", RUN+=\"/bin/chmod a+r /sys%p/energy_uj\"' into "
      "/etc/udev/rules.d/90-joulescale.rules), or '{}', or let perf "
      "read the same counters: 'sysctl kernel.perf_event_paranoid=0'",
      folder.native(),
      setcap_command("cap_dac_read_search"));
}

/// Whether something hides the zones that the kernel has: their links are there and lead nowhere,
/// or their home is an empty folder (Docker masks /sys/devices/virtual/powercap).
bool is_masked(const std::filesystem::path& root) {
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(root / "sys/class/powercap", error)) {
    std::error_code ignored;
    if (entry.is_symlink(ignored) && !std::filesystem::exists(entry.path(), ignored)) {
      return true;
    }
  }
  const auto home = root / "sys/devices/virtual/powercap";
  return std::filesystem::is_directory(home, error) && std::filesystem::is_empty(home, error);
}

std::string how_to_get_zones(const std::filesystem::path& root) {
  if (is_masked(root)) {
    return "this container masks them, as Docker does: start it with '--security-opt "
           "systempaths=unconfined', or with '-v /sys:/host/sys:ro -v /proc:/host/proc:ro' and "
           "use --root /host";
  }
  return "run 'modprobe intel_rapl_msr' as root (it serves Intel and AMD); a virtual machine has "
         "none unless its host passes them on: measure on the host";
}

std::string reason_of(int error) {
  if (error == EBADMSG) {
    return "energy_uj holds no number";
  }
  return fmt::format("energy_uj cannot be read: {}", std::strerror(error));
}

bool is_die(const PowercapZone& zone) { return zone.full_name.find("-die-") != std::string::npos; }

std::string package_of_die(const PowercapZone& zone) {
  return zone.full_name.substr(0, zone.full_name.find("-die-"));
}

/// Whether two dies show one counter (as on some AMD parts): b, read between two readings of a,
/// lies between their values twice, with a new value of a each time. Dies of their own miss each
/// other. A counter that rests all the time is a mirror where both show the same energy.
bool is_mirror(const PowercapZone& a, const PowercapZone& b, Clock& clock) {
  std::optional<std::uint64_t> fitted;
  int misses = 0;
  for (int round = 0; round < kMirrorRounds; ++round) {
    const auto first = read_energy(a.energy_file).value;
    const auto between = read_energy(b.energy_file).value;
    const auto second = read_energy(a.energy_file).value;
    if (!first || !between || !second || *between < *first || *between > *second) {
      if (++misses == kMostMirrorMisses) {
        return false;
      }
    } else if (fitted && *first > *fitted) {
      return true;
    } else if (!fitted) {
      fitted = second;
    }
    clock.sleep_until(clock.monotonic_now() + kMirrorPause);
  }
  return fitted && *fitted > 0;
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
                 fmt::format("no RAPL zones in '{}'; {}",
                             (root_ / "sys/class/powercap").native(),
                             how_to_get_zones(root_)));
  }
  drop_unreadable_zones();
  if (zones_.empty()) {
    std::vector<std::string> reasons = missing_;
    reasons.insert(reasons.end(), notes_.begin(), notes_.end());
    return Error(ErrorCode::kPermission,
                 fmt::format("no RAPL zone in '{}' is readable: {}",
                             (root_ / "sys/class/powercap").native(),
                             fmt::join(reasons, "; ")));
  }
  if (!may_read("powercap")) {
    return {};
  }
  drop_mirrored_dies();
  make_channels();
  return {};
}

std::optional<TickWatch> PowercapSensor::tick_watch() const { return kRaplTickWatch; }

/// Of a domain that counts all zones stay or none: a package that is left out would look like an
/// idle one.
void PowercapSensor::drop_unreadable_zones() {
  std::set<Domain> incomplete;
  std::vector<std::string> forbidden;
  const auto is_unreadable = [&](const PowercapZone& zone) {
    const EnergyText text = read_energy_patiently(zone.energy_file, clock_);
    if (text.value) {
      return false;
    }
    if (is_counted(zone.domain)) {
      incomplete.insert(zone.domain);
    }
    const std::string id = fmt::format("zone {} ('{}')", zone.id, zone.full_name);
    if (is_refusal(text.error)) {
      forbidden.push_back(id);
    } else {
      (is_counted(zone.domain) ? missing_ : notes_)
          .push_back(fmt::format("{}: {}", id, reason_of(text.error)));
    }
    return true;
  };
  std::erase_if(zones_, is_unreadable);
  if (!forbidden.empty()) {
    (incomplete.empty() ? notes_ : missing_)
        .push_back(fmt::format("{}: permission denied; {}",
                               fmt::join(forbidden, ", "),
                               how_to_permit(root_ / "sys/class/powercap")));
  }
  std::erase_if(zones_, [&](const PowercapZone& zone) {
    const bool is_dropped = incomplete.contains(zone.domain);
    if (is_dropped) {
      missing_.push_back(
          fmt::format("zone {} ('{}'): left out, since others of its kind cannot be "
                      "read",
                      zone.id,
                      zone.full_name));
    }
    return is_dropped;
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
    energy_files_.emplace_back(zone.energy_file);
    Channel& channel = channels_.emplace_back();
    channel.name = "powercap/" + zone.full_name;
    channel.domain = zone.domain;
    channel.overlap_group = is_inside_package(zone.domain)
                                ? zone.full_name.substr(0, zone.full_name.find('/'))
                                : zone.full_name;
    channel.counter_range = zone.range_uj;
    channel.plausible_power = rapl_plausible_power(zone.domain);
    if (zone.max_power) {
      channel.plausible_power = std::max(*zone.max_power * 2.0, kLeastPlausiblePower);
    }
    channel.instrument_accuracy = kRaplAccuracy;
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
  for (std::size_t i = 0; i < energy_files_.size() && i < out.size(); ++i) {
    out[i] = timed_reading(
        clock_, [&](Nanoseconds now) { return read_energy(energy_files_[i], now).value; });
  }
}

void PowercapSensor::close() noexcept {
  forget_claims();
  zones_.clear();
  energy_files_.clear();
  channels_.clear();
  notes_.clear();
  missing_.clear();
}

}  // namespace joulescale
