// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/node_meter.h"

#include <algorithm>
#include <utility>

namespace joulescale {

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
  std::vector<Place>& sensor = sensors_.emplace_back();
  for (const Channel& channel : channels) {
    const bool is_metric = channel.quantity == Quantity::kMetric;
    sensor.push_back(
        {is_metric,
         is_metric ? metrics_.add(channel, sample_period) : meter_for(channel, sample_period)});
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
  metrics_.keep_begin(begin);
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
  metrics_.forget_before(time);
}

void NodeMeter::close(Nanoseconds end) {
  for (Meter& meter : meters_) {
    meter.last_point = meter.curve().empty() ? Nanoseconds(0) : meter.curve().back().time;
    if (meter.last_value != Nanoseconds(0) && !meter.events().gone) {
      // A source that hangs or vanished gives no further value that would show the gap.
      meter.longest_gap = std::max(meter.longest_gap, end - meter.last_value);
    }
    std::visit([&](auto& account) { account.close(end); }, meter.account);
  }
}

void NodeMeter::add(std::size_t sensor, std::span<const RawReading> readings) {
  if (sensor >= sensors_.size() || readings.size() != sensors_[sensor].size()) {
    return;
  }
  for (std::size_t i = 0; i < readings.size(); ++i) {
    const Place place = sensors_[sensor][i];
    if (place.is_metric) {
      metrics_.account(place.index).add(readings[i]);
    } else {
      add_to_meter(meters_[place.index], readings[i]);
    }
  }
}

void NodeMeter::add_to_meter(Meter& meter, const RawReading& reading) {
  const Nanoseconds now = reading.before;
  if (now != Nanoseconds(0) && now < meter.last_read) {
    return;  // two processes read the channel for a moment
  }
  std::visit([&](auto& account) { account.add(reading); }, meter.account);
  meter.last_read = std::max(meter.last_read, now);
  if (reading.status == ReadStatus::kOk) {
    if (meter.last_value != Nanoseconds(0)) {
      meter.longest_gap = std::max(meter.longest_gap, now - meter.last_value);
    }
    meter.last_value = now;
  }
}

void NodeMeter::add_missed(std::size_t sensor, std::uint64_t count) {
  if (sensor < sensors_.size()) {
    for (const Place& place : sensors_[sensor]) {
      if (!place.is_metric) {
        meters_[place.index].missed_ticks += count;
      }
    }
  }
}

ChannelState NodeMeter::state_of(Place place) const {
  ChannelState state;
  if (place.is_metric) {
    state.account = metrics_.account(place.index).state();
    state.last_read = metrics_.account(place.index).last_time();
    return state;
  }
  const Meter& meter = meters_[place.index];
  std::visit([&](const auto& account) { state.account = account.state(); }, meter.account);
  state.missed_ticks = meter.missed_ticks;
  state.last_read = meter.last_read;
  state.longest_gap = meter.longest_gap;
  return state;
}

std::vector<ChannelState> NodeMeter::states(std::size_t sensor) const {
  std::vector<ChannelState> states;
  for (const Place& place : sensors_.at(sensor)) {
    states.push_back(state_of(place));
  }
  return states;
}

void NodeMeter::skip(std::size_t sensor,
                     std::span<const ChannelState> from,
                     std::span<const ChannelState> to) {
  if (sensor >= sensors_.size() || from.size() != sensors_[sensor].size() ||
      to.size() != from.size()) {
    return;
  }
  for (std::size_t i = 0; i < to.size(); ++i) {
    const Place place = sensors_[sensor][i];
    if (place.is_metric) {
      skip_account(metrics_.account(place.index), from[i], to[i]);
      continue;
    }
    Meter& meter = meters_[place.index];
    const bool skipped = std::visit(
        [&](auto& account) { return skip_account(account, from[i], to[i]); }, meter.account);
    if (skipped) {
      meter.missed_ticks += increase(from[i].missed_ticks, to[i].missed_ticks);
      meter.longest_gap = std::max(meter.longest_gap, to[i].longest_gap);
      meter.longest_skip = std::max(meter.longest_skip, to[i].last_read - meter.last_read);
      meter.last_read = std::max(meter.last_read, to[i].last_read);
      meter.last_value = std::max(meter.last_value, to[i].last_value());
    }
  }
}

}  // namespace joulescale
