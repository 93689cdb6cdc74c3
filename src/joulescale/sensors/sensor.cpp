// SPDX-License-Identifier: Apache-2.0
#include "joulescale/sensors/sensor.h"

#include <algorithm>
#include <array>

namespace joulescale {
namespace {

constexpr std::array kDomains = {Domain::kCpu,
                                 Domain::kDram,
                                 Domain::kGpu,
                                 Domain::kCpuCore,
                                 Domain::kCpuUncore,
                                 Domain::kPlatform};
constexpr int kMovesWanted = 2;

struct Moves {
  std::optional<std::uint64_t> last;
  Nanoseconds first_move{0};
  Nanoseconds last_move{0};
  int count = 0;
};

}  // namespace

std::string_view domain_name(Domain domain) {
  switch (domain) {
    case Domain::kCpu:
      return "cpu";
    case Domain::kDram:
      return "dram";
    case Domain::kGpu:
      return "gpu";
    case Domain::kCpuCore:
      return "cpu_core";
    case Domain::kCpuUncore:
      return "cpu_uncore";
    case Domain::kPlatform:
      return "platform";
  }
  return "unknown";
}

std::optional<Domain> domain_from_name(std::string_view name) {
  const auto* const found = std::ranges::find(kDomains, name, domain_name);
  return found == kDomains.end() ? std::nullopt : std::optional(*found);
}

bool is_counted(Domain domain) {
  return domain == Domain::kCpu || domain == Domain::kDram || domain == Domain::kGpu;
}

std::vector<std::string> overlaps_of(Domain domain) {
  switch (domain) {
    case Domain::kCpuCore:
    case Domain::kCpuUncore:
      return {"cpu"};
    case Domain::kPlatform:
      return {"cpu", "dram"};
    default:
      return {};
  }
}

double si_per_raw_unit(RawUnit unit) {
  switch (unit) {
    case RawUnit::kMicrojoule:
      return 1e-6;
    case RawUnit::kMillijoule:
    case RawUnit::kMilliwatt:
      return 1e-3;
  }
  return 0.0;
}

std::string_view raw_unit_name(RawUnit unit) {
  switch (unit) {
    case RawUnit::kMicrojoule:
      return "uJ";
    case RawUnit::kMillijoule:
      return "mJ";
    case RawUnit::kMilliwatt:
      return "mW";
  }
  return "unknown";
}

std::vector<std::optional<Nanoseconds>> probe_update_periods(Sensor& sensor,
                                                             Clock& clock,
                                                             Nanoseconds interval,
                                                             Nanoseconds limit) {
  const auto channels = sensor.channels();
  std::vector<RawReading> readings(channels.size());
  std::vector<Moves> moves(channels.size());
  const Nanoseconds end = clock.monotonic_now() + limit;
  bool all_seen = false;
  while (!all_seen && clock.monotonic_now() < end) {
    sensor.read(readings);
    all_seen = true;
    for (std::size_t i = 0; i < channels.size(); ++i) {
      if (channels[i].behavior != Behavior::kCounter || readings[i].status != ReadStatus::kOk) {
        continue;
      }
      Moves& channel = moves[i];
      if (channel.last && readings[i].raw > *channel.last) {
        (channel.count == 0 ? channel.first_move : channel.last_move) = readings[i].after;
        ++channel.count;
      }
      channel.last = readings[i].raw;
      all_seen = all_seen && channel.count >= kMovesWanted;
    }
    if (!all_seen) {
      clock.sleep_until(clock.monotonic_now() + interval);
    }
  }
  std::vector<std::optional<Nanoseconds>> periods(channels.size());
  for (std::size_t i = 0; i < channels.size(); ++i) {
    if (moves[i].count >= kMovesWanted) {
      periods[i] = (moves[i].last_move - moves[i].first_move) / (moves[i].count - 1);
    }
  }
  return periods;
}

bool Sensor::may_read(const std::string& source) {
  if (!claim_) {
    return true;
  }
  const bool granted = claim_(source);
  (granted ? granted_ : elsewhere_).push_back(source);
  return granted;
}

void Sensor::forget_claims() {
  granted_.clear();
  elsewhere_.clear();
}

}  // namespace joulescale
