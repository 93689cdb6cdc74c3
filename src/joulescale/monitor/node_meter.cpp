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
EnergyCurve& NodeMeter::Meter::curve() {
  return std::visit([](auto& a) -> EnergyCurve& { return a.curve(); }, account);
}
const ChannelEvents& NodeMeter::Meter::events() const {
  return std::visit([](const auto& a) -> const ChannelEvents& { return a.events(); }, account);
}
Nanoseconds NodeMeter::Meter::time_scale() const {
  return std::visit([](const auto& a) { return a.time_scale(); }, account);
}

std::size_t NodeMeter::add_sensor(std::span<const Channel> channels, Nanoseconds sample_period) {
  std::vector<std::size_t>& sensor = sensors_.emplace_back();
  for (const Channel& channel : channels) {
    sensor.push_back(meter_for(channel, sample_period));
  }
  return sensors_.size() - 1;
}

std::size_t NodeMeter::meter_for(const Channel& channel, Nanoseconds sample_period) {
  for (std::size_t i = 0; i < meters_.size(); ++i) {
    const Channel& known = meters_[i].channel;
    if (known.name == channel.name && known.quantity == channel.quantity &&
        known.unit == channel.unit) {
      return i;
    }
  }
  Meter& meter = channel.quantity == Quantity::kEnergy
                     ? meters_.emplace_back(channel, CounterAccount(channel, sample_period))
                     : meters_.emplace_back(channel, PowerAccount(channel, sample_period));
  meter.sample_period = sample_period;
  if (keep_ == Keep::kTotals) {
    meter.curve().keep_ends_only();
    if (begin_) {
      meter.curve().keep_begin(*begin_);
    }
  }
  return meters_.size() - 1;
}

void NodeMeter::keep_begin(Nanoseconds begin) {
  begin_ = begin;
  for (Meter& meter : meters_) {
    meter.curve().keep_begin(begin);
  }
}

std::optional<std::size_t> NodeMeter::find(const CountedChannel& channel) const {
  for (std::size_t i = 0; i < meters_.size(); ++i) {
    const Channel& known = meters_[i].channel;
    if (known.name == channel.name && known.quantity == channel.quantity) {
      return i;
    }
  }
  return std::nullopt;
}

void NodeMeter::forget_before(Nanoseconds time) {
  for (Meter& meter : meters_) {
    meter.curve().forget_before(time);
  }
}

void NodeMeter::close(Nanoseconds end) {
  for (Meter& meter : meters_) {
    meter.last_point = meter.curve().empty() ? Nanoseconds(0) : meter.curve().back().time;
    std::visit([&](auto& account) { account.close(end); }, meter.account);
  }
}

void NodeMeter::add(std::size_t sensor, std::span<const RawReading> readings) {
  if (sensor >= sensors_.size() || readings.size() != sensors_[sensor].size()) {
    return;
  }
  for (std::size_t i = 0; i < readings.size(); ++i) {
    Meter& meter = meters_[sensors_[sensor][i]];
    const Nanoseconds now = readings[i].before;
    if (now != Nanoseconds(0) && now < meter.last_read) {
      continue;  // two processes read the channel for a moment
    }
    std::visit([&](auto& account) { account.add(readings[i]); }, meter.account);
    if (meter.last_read != Nanoseconds(0)) {
      meter.longest_gap = std::max(meter.longest_gap, now - meter.last_read);
    }
    meter.last_read = std::max(meter.last_read, now);
  }
}

void NodeMeter::add_missed(std::size_t sensor, std::uint64_t count) {
  if (sensor < sensors_.size()) {
    for (const std::size_t index : sensors_[sensor]) {
      meters_[index].missed_ticks += count;
    }
  }
}

std::vector<const NodeMeter::Meter*> NodeMeter::all_meters() const {
  Chosen all;
  for (const Meter& meter : meters_) {
    all.push_back(&meter);
  }
  return all;
}

NodeEnergy NodeMeter::finish(Nanoseconds begin, Nanoseconds end) {
  close(end);
  for (Meter& meter : meters_) {
    meter.window =
        std::visit([&](const auto& account) { return account.window(begin, end); }, meter.account);
  }
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
  add_counted(counted, to_seconds(end - begin), result);
  return result;
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
  for (const Meter& meter : meters_) {
    if (meter.longest_gap > std::max(kGapWorthAFlag, 10 * meter.sample_period)) {
      flag(result, "gap");
    }
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
  const bool sensed = std::ranges::any_of(result.groups, [](const GroupEnergy& group) {
    return group.energy.provenance != Provenance::kEstimated;
  });
  if (!sensed) {
    flag(result, "no_sensor");
  }
}

void NodeMeter::add_counted(const Chosen& counted, Seconds duration, NodeEnergy& result) {
  Joules measured;
  bool any_measured = false;
  for (const Meter* meter : counted) {
    const bool estimated = meter->channel.provenance == Provenance::kEstimated;
    result.counted.push_back({meter->channel.name,
                              meter->channel.quantity,
                              estimated,
                              meter->curve().front().time,
                              meter->last_point});
    if (!estimated) {
      any_measured = true;
      measured += meter->window->energy;
      result.resolution = std::max(result.resolution, meter->time_scale());
    }
  }
  if (any_measured && duration.value() > 0.0) {
    result.mean_power = measured / duration;
  }
}

}  // namespace joulescale
