// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/node_meter.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace joulescale {
namespace {

/// A sampling gap of this length is worth a flag.
constexpr Nanoseconds kGapWorthAFlag = std::chrono::seconds(1);
/// Counter and integrated power that differ by more than this share (and more than their
/// uncertainties explain) disagree.
constexpr double kDisagreementShare = 0.05;
constexpr Nanoseconds kLeastPeakWindow = std::chrono::milliseconds(200);
/// A source that comes later than this after the command's start is late.
constexpr Nanoseconds kLateStart = std::chrono::milliseconds(5);

void flag(NodeEnergy& result, const char* name) {
  if (std::ranges::find(result.flags, name) == result.flags.end()) {
    result.flags.emplace_back(name);
  }
}

bool disagree(const WindowEnergy& counter, const WindowEnergy& power) {
  const double difference = std::abs((counter.energy - power.energy).value());
  return difference > kDisagreementShare * counter.energy.value() &&
         difference > (counter.uncertainty + power.uncertainty).value();
}

}  // namespace

const EnergyCurve& NodeMeter::Meter::curve() const {
  return std::visit([](const auto& a) -> const EnergyCurve& { return a.curve(); }, account);
}
const ChannelEvents& NodeMeter::Meter::events() const {
  return std::visit([](const auto& a) -> const ChannelEvents& { return a.events(); }, account);
}
Nanoseconds NodeMeter::Meter::time_scale() const {
  return std::visit([](const auto& a) { return a.time_scale(); }, account);
}

std::size_t NodeMeter::add_sensor(std::span<const Channel> channels, Nanoseconds sample_period) {
  SensorMeters& sensor = sensors_.emplace_back();
  sensor.sample_period = sample_period;
  for (const Channel& channel : channels) {
    if (channel.quantity == Quantity::kEnergy) {
      sensor.meters.push_back({channel, CounterAccount(channel, sample_period), 0, {}});
    } else {
      sensor.meters.push_back({channel, PowerAccount(channel, sample_period), 0, {}});
    }
  }
  return sensors_.size() - 1;
}

void NodeMeter::add(std::size_t sensor, std::span<const RawReading> readings) {
  if (sensor >= sensors_.size() || readings.size() != sensors_[sensor].meters.size()) {
    return;
  }
  SensorMeters& meters = sensors_[sensor];
  for (std::size_t i = 0; i < readings.size(); ++i) {
    std::visit([&](auto& account) { account.add(readings[i]); }, meters.meters[i].account);
  }
  if (!readings.empty()) {
    const Nanoseconds now = readings.front().before;
    if (meters.last_read != Nanoseconds(0)) {
      meters.longest_gap = std::max(meters.longest_gap, now - meters.last_read);
    }
    meters.last_read = now;
  }
}

void NodeMeter::add_missed(std::size_t sensor, std::uint64_t count) {
  if (sensor < sensors_.size()) {
    for (Meter& meter : sensors_[sensor].meters) {
      meter.missed_ticks += count;
    }
  }
}

std::vector<const NodeMeter::Meter*> NodeMeter::all_meters() const {
  Chosen all;
  for (const SensorMeters& sensor : sensors_) {
    for (const Meter& meter : sensor.meters) {
      all.push_back(&meter);
    }
  }
  return all;
}

NodeEnergy NodeMeter::finish(Nanoseconds begin, Nanoseconds end) {
  close_accounts(begin, end);
  NodeEnergy result;
  std::map<std::pair<Domain, std::string>, Chosen> groups;
  for (const Meter* meter : all_meters()) {
    groups[{meter->channel.domain, meter->channel.overlap_group}].push_back(meter);
  }
  // An estimate stands in only for a domain in which no sensor gave a value.
  std::set<Domain> with_sensor;
  for (const auto& [key, group] : groups) {
    for (const Meter* meter : group) {
      if (meter->window && meter->channel.provenance != Provenance::kEstimated) {
        with_sensor.insert(key.first);
      }
    }
  }
  Chosen counted;
  for (const auto& [key, group] : groups) {
    const bool estimate = group.front()->channel.provenance == Provenance::kEstimated;
    if (!estimate || !with_sensor.contains(key.first)) {
      add_group(group, result, counted);
    }
  }
  add_sources(result);
  add_flags(result);
  add_curves(counted, begin, end, result);
  return result;
}

void NodeMeter::close_accounts(Nanoseconds begin, Nanoseconds end) {
  for (SensorMeters& sensor : sensors_) {
    for (Meter& meter : sensor.meters) {
      std::visit(
          [&](auto& account) {
            account.close(end);
            meter.window = account.window(begin, end);
          },
          meter.account);
    }
  }
}

/// One overlap group: its energy counter if that gave a value, else its power.
void NodeMeter::add_group(const Chosen& group, NodeEnergy& result, Chosen& counted) const {
  const Meter* counter = nullptr;
  const Meter* power = nullptr;
  for (const Meter* meter : group) {
    if (meter->window) {
      (meter->channel.quantity == Quantity::kEnergy ? counter : power) = meter;
    }
  }
  const Meter* chosen = counter != nullptr ? counter : power;
  if (chosen == nullptr) {
    return;
  }
  GroupEnergy& entry = result.groups.emplace_back();
  entry.group = chosen->channel.overlap_group;
  entry.component = domain_name(chosen->channel.domain);
  entry.counted = is_counted(chosen->channel.domain);
  entry.energy.energy = chosen->window->energy;
  entry.energy.provenance = chosen->channel.provenance;
  entry.energy.overlaps = overlaps_of(chosen->channel.domain);
  entry.energy.instrument_accuracy = chosen->channel.instrument_accuracy;
  entry.energy.inputs = chosen->channel.inputs;
  if (chosen->channel.provenance != Provenance::kEstimated) {
    entry.energy.uncertainty = chosen->window->uncertainty;
  }
  if (counter != nullptr && power != nullptr) {
    entry.energy.integrated = power->window->energy;
    if (disagree(*counter->window, *power->window)) {
      flag(result, "counter_power_disagree");
    }
  }
  if (entry.counted) {
    counted.push_back(chosen);
  }
}

void NodeMeter::add_sources(NodeEnergy& result) const {
  for (const Meter* meter : all_meters()) {
    SourceRecord& source = result.sources.emplace_back();
    source.name = meter->channel.name;
    source.domain = domain_name(meter->channel.domain);
    source.provenance = meter->channel.provenance;
    const ChannelEvents& events = meter->events();
    source.samples = events.samples;
    source.missed = events.missed + meter->missed_ticks;
    source.wraps = events.wraps;
    source.resets = events.resets;
    if (const auto* counter = std::get_if<CounterAccount>(&meter->account)) {
      if (const auto period = counter->update_period()) {
        source.update_period = to_seconds(*period);
      }
    }
    if (meter->window) {
      source.energy = meter->window->energy;
      if (meter->window->unseen > kLateStart) {
        source.late_start = to_seconds(meter->window->unseen);
      }
    }
  }
}

void NodeMeter::add_flags(NodeEnergy& result) const {
  for (const SensorMeters& sensor : sensors_) {
    if (sensor.longest_gap > std::max(kGapWorthAFlag, 10 * sensor.sample_period)) {
      flag(result, "gap");
    }
    for (const Meter& meter : sensor.meters) {
      const ChannelEvents& events = meter.events();
      if (events.gone) {
        flag(result, "device_lost");
      }
      if (events.resets > 0) {
        flag(result, "counter_reset");
      }
      if (events.ambiguous > 0) {
        flag(result, "wrap_ambiguous");
      }
      if (events.gaps > 0) {
        flag(result, "gap");
      }
      if (meter.window && meter.window->unseen > kLateStart) {
        flag(result, "late_start");
      }
    }
  }
  const bool sensed = std::ranges::any_of(result.groups, [](const GroupEnergy& group) {
    return group.energy.provenance != Provenance::kEstimated;
  });
  if (!sensed) {
    flag(result, "no_sensor");
  }
}

void NodeMeter::add_curves(const Chosen& counted,
                           Nanoseconds begin,
                           Nanoseconds end,
                           NodeEnergy& result) {
  std::vector<const EnergyCurve*> measured;
  std::vector<const EnergyCurve*> estimated;
  for (const Meter* meter : counted) {
    if (meter->channel.provenance == Provenance::kEstimated) {
      estimated.push_back(&meter->curve());
    } else {
      measured.push_back(&meter->curve());
      result.curves.resolution = std::max(result.curves.resolution, meter->time_scale());
    }
  }
  if (!estimated.empty()) {
    result.curves.estimated = sum_curves(estimated, begin, end);
  }
  if (!measured.empty()) {
    EnergyCurve& curve = result.curves.measured;
    curve = sum_curves(measured, begin, end);
    const Seconds duration = to_seconds(end - begin);
    if (duration.value() > 0.0) {
      result.power.mean = curve.back().energy / duration;
      result.power.peak =
          peak_power(curve, std::max(2 * result.curves.resolution, kLeastPeakWindow));
    }
  }
}

}  // namespace joulescale
