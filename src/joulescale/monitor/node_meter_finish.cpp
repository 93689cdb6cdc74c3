// SPDX-License-Identifier: Apache-2.0
// NodeMeter::finish(): which of a node's channels count, and what is doubtful about them.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "joulescale/monitor/counter_check.h"
#include "joulescale/monitor/node_meter.h"

namespace joulescale {
namespace {

/// A sampling gap of this length is worth a flag.
constexpr Nanoseconds kGapWorthAFlag = std::chrono::seconds(1);
/// So is a gap at the end of this part of a shorter run.
constexpr int kShortestPartWorthAFlag = 20;
/// An estimate that stands by for a counter is read once a second.
constexpr Nanoseconds kEstimateGapWorthAFlag = std::chrono::seconds(3);
/// What a reset or a late start hides is little as a rule: power takes a counter's place if it is
/// so much surer.
constexpr double kMuchSurer = 4.0;
/// A source that comes later than this after the command's start is late.
constexpr Nanoseconds kLateStart = std::chrono::milliseconds(5);

/// Where several sources count the same silicon, the earlier one is believed; docs/
/// measurement-method.md says why.
constexpr std::array<std::string_view, 2> kSourceOrder = {"powercap", "perf"};

std::string_view source_of(const Channel& channel) {
  return std::string_view(channel.name).substr(0, channel.name.find('/'));
}

/// The overlap group without its die ("package-0-die-1/dram": "package-0/dram"): two sources need
/// not agree on what the dies of a package are.
std::string silicon_of(const Channel& channel) {
  std::string silicon = channel.overlap_group;
  if (const std::size_t die = silicon.find("-die-"); die != std::string::npos) {
    silicon.erase(die, std::min(silicon.find('/', die), silicon.size()) - die);
  }
  return silicon;
}

void flag(NodeEnergy& result, const char* name) {
  if (std::ranges::find(result.flags, name) == result.flags.end()) {
    result.flags.emplace_back(name);
  }
}

}  // namespace

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
    if (meter.window && meter.channel.provenance == Provenance::kEstimated) {
      // A run of a few milliseconds may catch a tick of busy time that began before it.
      meter.window->energy =
          std::min(meter.window->energy, meter.channel.plausible_power * to_seconds(end - begin));
    }
  }
  NodeEnergy result;
  std::map<std::pair<Domain, std::string>, Chosen> silicon;
  for (const Meter* meter : all_meters()) {
    silicon[{meter->channel.domain, silicon_of(meter->channel)}].push_back(meter);
  }
  std::map<std::pair<Domain, std::string>, Chosen> groups;
  for (auto& [key, meters] : silicon) {
    keep_one_source(meters);
    for (const Meter* meter : meters) {
      groups[{key.first, meter->channel.overlap_group}].push_back(meter);
    }
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
      add_group(group, begin, end, result, counted);
    }
    if (!estimate && is_dead(group)) {
      result.still.push_back(group.front()->channel.name);
      if (with_sensor.contains(key.first)) {
        flag(result, "gap");  // another one of the domain counts: the total lacks this one
      }
    }
  }
  add_sources(result);
  add_flags(result);
  add_counted(counted, to_seconds(end - begin), result);
  result.metrics = metrics_.finish(begin, end);
  return result;
}

/// Whether the counter was read from the begin of the window on and lost nothing.
bool NodeMeter::saw_all(const Meter& meter) {
  const ChannelEvents& events = meter.events();
  return meter.window && meter.window->unseen <= kLateStart && !events.gone && events.resets == 0 &&
         events.ambiguous == 0;
}

/// Of the energy counters of several sources on the same silicon, leaves those of one: of a source
/// that saw all before one that did not, then by kSourceOrder.
void NodeMeter::keep_one_source(Chosen& silicon) {
  struct Source {
    bool gave_value = false;
    bool saw_all = true;
  };
  std::map<std::string_view, Source> sources;
  for (const Meter* meter : silicon) {
    if (meter->channel.quantity == Quantity::kEnergy) {
      Source& source = sources[source_of(meter->channel)];
      source.gave_value = source.gave_value || meter->window;
      source.saw_all = source.saw_all && saw_all(*meter);
    }
  }
  if (sources.size() < 2) {
    return;
  }
  const auto place = [](const auto& entry) {
    const auto& [name, source] = entry;
    const auto order = std::ranges::find(kSourceOrder, name) - kSourceOrder.begin();
    return std::tuple(!source.gave_value, !source.saw_all, order);
  };
  const std::string_view best = std::ranges::min_element(sources, {}, place)->first;
  std::erase_if(silicon, [&](const Meter* meter) {
    return meter->channel.quantity == Quantity::kEnergy && source_of(meter->channel) != best;
  });
}

/// Whether the counter stood still or gave nothing for so long before the end that its energy is
/// not what was used.
bool NodeMeter::stopped_early(const Meter& meter, Nanoseconds duration) {
  const auto* counter = std::get_if<CounterAccount>(&meter.account);
  return counter != nullptr && meter.window && !meter.events().gone &&
         counter->untold() > std::min(std::max(kGapWorthAFlag, 10 * meter.sample_period),
                                      duration / kShortestPartWorthAFlag);
}

/// The same of an energy counter, in the middle: what it counted is right, but not known when.
bool NodeMeter::rested_long(const Meter& meter) {
  const auto& counter = std::get<CounterAccount>(meter.account);
  const Nanoseconds usual =
      std::max(meter.sample_period, counter.update_period().value_or(Nanoseconds(0)));
  return is_counted(meter.channel.domain) &&
         counter.longest_rest() > std::max(kGapWorthAFlag, 10 * usual);
}

/// Whether moves of the counter were due before the end that did not come.
bool NodeMeter::is_silent(const Meter& counter) {
  return std::get<CounterAccount>(counter.account).untold() > Nanoseconds(0);
}

/// How far the end of the counter's energy is off, by what the power says of it: since the last
/// move nothing counted, and since the reading before that the counter may have stopped.
Joules NodeMeter::end_doubt(const Meter& counter, const Meter& power, Nanoseconds begin) {
  const auto& account = std::get<CounterAccount>(counter.account);
  const Nanoseconds from = std::max(begin, account.moved_after());
  const auto& samples = std::get<PowerAccount>(power.account);
  Joules doubt;
  if (samples.power_after(from)) {
    const Joules counted = counter.curve().back().energy - counter.curve().at(from);
    const Joules integrated = power.curve().back().energy - power.curve().at(from);
    doubt = std::max(integrated - counted, counted - integrated);
  }
  const auto watts = samples.power_after(counter.last_point);
  return watts ? std::max(doubt, account.end_doubt(*watts)) : doubt;
}

/// Whether a GPU's power is to be believed rather than its counter, which was reset, came late or
/// went silent.
bool NodeMeter::is_surer(const Meter& power, const Meter& counter) {
  if (is_silent(counter)) {
    // What a silent counter says of the rest is no more than that the power stayed as it was.
    return power.window->uncertainty <
           counter.window->uncertainty + difference(*counter.window, *power.window);
  }
  return (counter.events().resets > 0 || counter.window->unseen > kLateStart) &&
         power.window->uncertainty * kMuchSurer < counter.window->uncertainty;
}

/// Whether it should count, and none of its channels told its energy.
bool NodeMeter::is_dead(const Chosen& group) {
  const auto gave_value = [](const Meter* meter) { return meter->window.has_value(); };
  return is_counted(group.front()->channel.domain) && std::ranges::none_of(group, gave_value);
}

/// One overlap group: its energy counter if that gave a value to be believed, else its power.
void NodeMeter::add_group(const Chosen& group,
                          Nanoseconds begin,
                          Nanoseconds end,
                          NodeEnergy& result,
                          Chosen& counted) const {
  const Nanoseconds duration = end - begin;
  const Meter* counter = nullptr;
  const Meter* power = nullptr;
  for (const Meter* meter : group) {
    if (meter->window && meter->channel.quantity == Quantity::kPower) {
      power = meter;
    }
  }
  for (const Meter* meter : group) {
    const auto* account = std::get_if<CounterAccount>(&meter->account);
    if (account == nullptr) {
      continue;
    }
    if (power != nullptr && is_unsupported(*account, meter->window, *power->window, duration)) {
      flag(result, "counter_power_disagree");
      continue;
    }
    const bool stopped = is_counted(meter->channel.domain) && stopped_early(*meter, duration);
    if (stopped) {
      flag(result, "gap");
    }
    if (power != nullptr && meter->window && is_surer(*power, *meter)) {
      continue;  // its power tells what it does not
    }
    if (meter->window) {
      counter = meter;
    }
  }
  if (counter != nullptr && rested_long(*counter)) {
    flag(result, "gap");
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
    *entry.energy.uncertainty += end_doubt(*counter, *power, begin);
    const bool do_disagree = disagree(*counter->window, *power->window);
    if (do_disagree) {
      flag(result, "counter_power_disagree");
    }
    if (do_disagree || is_silent(*counter)) {  // nothing tells which of the two is right
      *entry.energy.uncertainty += difference(*counter->window, *power->window);
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
    const Nanoseconds worth_a_flag = meter.channel.provenance == Provenance::kEstimated
                                         ? kEstimateGapWorthAFlag
                                         : kGapWorthAFlag;
    if (meter.longest_gap > std::max(worth_a_flag, 10 * meter.sample_period)) {
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
      result.coarsest_resolution =
          std::max({result.coarsest_resolution, result.resolution, meter->longest_skip});
    }
  }
  if (any_measured && duration.value() > 0.0) {
    result.mean_power = measured / duration;
  }
}

}  // namespace joulescale
