// SPDX-License-Identifier: Apache-2.0
#include "joulescale/sensors/sensor.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "joulescale/base/file.h"

namespace joulescale {
namespace {

constexpr std::array kDomains = {Domain::kCpu,
                                 Domain::kDram,
                                 Domain::kGpu,
                                 Domain::kCpuCore,
                                 Domain::kCpuUncore,
                                 Domain::kPlatform,
                                 Domain::kModule};
constexpr int kMovesWanted = 2;

struct UnitFacts {
  std::string_view raw_name;
  std::string_view reported_name;
  double reported_per_raw = 0.0;
};

UnitFacts unit_facts(RawUnit unit) {
  switch (unit) {
    case RawUnit::kMicrojoule:
      return {"uJ", "J", 1e-6};
    case RawUnit::kMillijoule:
      return {"mJ", "J", 1e-3};
    case RawUnit::kMilliwatt:
      return {"mW", "W", 1e-3};
    case RawUnit::kJouleOver2To16:
      return {"2^-16 J", "J", 0x1p-16};
    case RawUnit::kPercent:
      return {"percent", "percent", 1.0};
    case RawUnit::kMegahertz:
      return {"MHz", "MHz", 1.0};
    case RawUnit::kCelsius:
      return {"degC", "degC", 1.0};
    case RawUnit::kByte:
      return {"B", "B", 1.0};
    case RawUnit::kMicrosecond:
      return {"us", "s", 1e-6};
    case RawUnit::kBitMask:
      return {"bits", "bits", 1.0};
  }
  return {"unknown", "unknown", 0.0};
}

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
    case Domain::kModule:
      return "module";
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
    case Domain::kModule:
      return {"cpu", "dram", "gpu"};
    default:
      return {};
  }
}

std::string_view quantity_name(Quantity quantity) {
  switch (quantity) {
    case Quantity::kEnergy:
      return "energy";
    case Quantity::kPower:
      return "power";
    case Quantity::kMetric:
      return "metric";
  }
  return "unknown";
}

std::string setcap_command(std::string_view capability) {
  const auto program = own_program();
  return fmt::format("setcap {}+ep {}", capability, program ? program->native() : "joulescale");
}

double si_per_raw_unit(RawUnit unit) { return unit_facts(unit).reported_per_raw; }

std::string_view raw_unit_name(RawUnit unit) { return unit_facts(unit).raw_name; }

std::string_view reported_unit_name(RawUnit unit) { return unit_facts(unit).reported_name; }

bool is_consistent(const Channel& channel) {
  const bool is_joules = reported_unit_name(channel.unit) == "J";
  switch (channel.quantity) {
    case Quantity::kEnergy:
      return is_joules && channel.behavior == Behavior::kCounter;
    case Quantity::kPower:
      return channel.unit == RawUnit::kMilliwatt && channel.behavior == Behavior::kGauge;
    case Quantity::kMetric:
      return !is_joules;
  }
  return false;
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
      if (channels[i].behavior != Behavior::kCounter) {
        continue;
      }
      if (readings[i].status != ReadStatus::kOk) {
        all_seen = false;
        continue;
      }
      Moves& channel = moves[i];
      const bool fell = channel.last && readings[i].raw < *channel.last;
      if (fell && !channels[i].counter_range) {  // a hurried driver's wrong answer is no move
        all_seen = false;
        continue;
      }
      if (channel.last && !fell && readings[i].raw > *channel.last) {
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

bool Sensor::may_inherit(const std::string& source) {
  if (!inherit_) {
    return false;
  }
  const bool granted = inherit_(source);
  (granted ? granted_ : heritage_).push_back(source);
  return granted;
}

void Sensor::forget_claims() {
  heritage_.clear();
  granted_.clear();
  elsewhere_.clear();
}

}  // namespace joulescale
