// SPDX-License-Identifier: Apache-2.0
// The life of a source's thread.
#include "joulescale/monitor/sampler_shared.h"

#include <sched.h>

#include <algorithm>

#include "joulescale/monitor/counter_watch.h"

namespace joulescale {
namespace {

/// Beyond this many unread events (a disk that hangs) readings are dropped and counted as missed.
constexpr std::size_t kMostEvents = 200'000;
constexpr Nanoseconds kLastTickInterval = std::chrono::milliseconds(1);
constexpr int kLastTickSlowdown = 5;  // of a sensor's own least period
/// Of an estimate that stands by for a counter: it is read again should the counter's source end.
constexpr Nanoseconds kSparePeriod = std::chrono::seconds(1);
/// How often it is seen whether another rank has left a source. Counters lose nothing meanwhile.
constexpr Nanoseconds kHeritagePeriod = std::chrono::milliseconds(200);
constexpr Nanoseconds kReadyPoll = std::chrono::milliseconds(5);
constexpr Nanoseconds kMetricsStartPatience = std::chrono::seconds(1);

/// The command may be bound to one core, and this thread with it: sampling must not take its time.
void leave_inherited_core() {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    CPU_SET(cpu, &all);
  }
  ::sched_setaffinity(
      0, sizeof all, &all);  // the kernel keeps to the cgroup's; failure is harmless
}

}  // namespace

void Sampler::Shared::push(SamplerEvent event) {
  const std::lock_guard lock(mutex);
  if (events.size() >= kMostEvents && event.kind == SamplerEvent::Kind::kReadings) {
    events.back().missed += 1 + event.missed;
    return;
  }
  const bool wakes = event.kind != SamplerEvent::Kind::kReadings;
  urgent = urgent || wakes;
  events.push_back(std::move(event));
  if (wakes || events.size() == kManyEvents) {
    wake_taker.notify_all();
  }
}

void Sampler::Shared::push_readings(std::size_t index,
                                    std::vector<RawReading> readings,
                                    std::uint64_t missed) {
  SamplerEvent event;
  event.sensor = index;
  event.readings = std::move(readings);
  event.missed = missed;
  push(std::move(event));
}

void Sampler::Shared::end(std::size_t index) {
  const std::lock_guard lock(mutex);
  sources[index].settled = true;
  sources[index].ended = true;
  wake_owner.notify_all();
  wake_metrics();
}

void Sampler::Shared::give_up(std::size_t index, const std::string& reason) {
  SamplerEvent event;
  event.kind = SamplerEvent::Kind::kFailed;
  event.sensor = index;
  event.name = sources[index].sensor->name();
  event.error = reason;
  push(std::move(event));
  end(index);
}

/// Call it with the lock held.
bool Sampler::Shared::all_awaited(bool Source::* state) const {
  return std::ranges::all_of(
      sources, [&](const Source& source) { return source.*state || !source.awaited; });
}

/// Lets the sensors of metrics begin once nobody waits for another. Call it with the lock held.
void Sampler::Shared::wake_metrics() {
  if (all_awaited(&Source::settled)) {
    wake_sources.notify_all();
  }
}

/// A metric's first call must not stand in the way of the first readings of energy. False: the
/// sampler ends already.
bool Sampler::Shared::wait_for_awaited() {
  std::unique_lock lock(mutex);
  wake_sources.wait_until(lock, time_point(clock.monotonic_now() + kMetricsStartPatience), [&] {
    return stop || last_tick_deadline || all_awaited(&Source::settled);
  });
  return !stop && !last_tick_deadline;
}

/// The last reading of metrics, if it was asked for and not made yet.
void Sampler::Shared::read_if_asked(std::size_t index) {
  Source& source = sources[index];
  {
    const std::lock_guard lock(mutex);
    if (source.read_requests_done == read_requests) {
      return;
    }
  }
  if (!source.sensor->channels().empty()) {
    std::vector<RawReading> readings(source.sensor->channels().size());
    source.sensor->read(readings);
    push_readings(index, std::move(readings));
  }
}

void Sampler::Shared::run(std::size_t index) {
  leave_inherited_core();
  Sensor& sensor = *sources[index].sensor;
  if (claims) {
    sensor.share([this](const std::string& name) { return claims->claim(name); },
                 [this](const std::string& name) { return claims->inherit(name); });
  }
  const bool awaited = sources[index].awaited;
  const bool begins = awaited || wait_for_awaited();
  Nanoseconds sample_period{0};
  while (begins && open(index, sample_period)) {
    if (sample(index, sample_period)) {
      continue;
    }
    awaited ? sample_last_tick(index) : read_if_asked(index);
    break;
  }
  sensor.close();
  end(index);
}

bool Sampler::Shared::open(std::size_t index, Nanoseconds& sample_period) {
  Sensor& sensor = *sources[index].sensor;
  SamplerEvent event;
  event.sensor = index;
  event.name = sensor.name();
  auto opened = sensor.open();
  event.kind = opened ? SamplerEvent::Kind::kOpened : SamplerEvent::Kind::kFailed;
  event.devices.assign(sensor.devices().begin(), sensor.devices().end());
  event.notes.assign(sensor.notes().begin(), sensor.notes().end());
  event.missing.assign(sensor.missing().begin(), sensor.missing().end());
  event.elsewhere = sensor.elsewhere();
  if (!opened) {
    event.error = opened.error().text();
    push(std::move(event));
    mark_ready(sensor);
    return false;
  }
  event.channels.assign(sensor.channels().begin(), sensor.channels().end());
  sample_period = std::max(period, sensor.min_read_period());
  for (const Channel& channel : event.channels) {
    if (channel.counter_range) {
      // At least two readings while the counter goes round once at the highest plausible power.
      const double round_s = static_cast<double>(*channel.counter_range) *
                             si_per_raw_unit(channel.unit) / channel.plausible_power.value();
      const auto half_round =
          Nanoseconds(static_cast<std::int64_t>(std::min(round_s, 3600.0) / 2.0 * 1e9));
      sample_period = std::max(std::min(sample_period, half_round), Nanoseconds(10'000'000));
    }
  }
  event.sample_period = sample_period;
  note_domains(index, event.channels);
  push(std::move(event));
  return true;
}

void Sampler::Shared::note_domains(std::size_t index, std::span<const Channel> channels) {
  const std::lock_guard lock(mutex);
  Source& source = sources[index];
  source.measures.clear();
  source.estimates.clear();
  for (const Channel& channel : channels) {
    if (channel.quantity != Quantity::kMetric) {
      (channel.provenance == Provenance::kEstimated ? source.estimates : source.measures)
          .insert(channel.domain);
    }
  }
}

/// Whether the source has estimates alone, each of a domain that another source measures. Call it
/// with the lock held.
bool Sampler::Shared::is_spare(const Source& source) const {
  const auto is_measured = [&](Domain domain) {
    return std::ranges::any_of(sources, [&](const Source& other) {
      return other.settled && !other.ended && other.measures.contains(domain);
    });
  };
  return !source.estimates.empty() && source.measures.empty() &&
         std::ranges::all_of(source.estimates, is_measured);
}

/// Whether what this sensor may read has changed: a source was freed by its reader, or this process
/// lost one.
bool Sampler::Shared::owns_other_sources_now(const Sensor& sensor) {
  if (!claims) {
    return false;
  }
  const auto freed = std::ranges::any_of(
      sensor.elsewhere(), [&](const std::string& name) { return claims->claim(name); });
  const auto lost = std::ranges::any_of(
      sensor.granted(), [&](const std::string& name) { return !claims->claim(name); });
  return freed || lost;
}

/// Whether another rank has ended and left what this sensor reads on.
bool Sampler::Shared::inherits(const Sensor& sensor) {
  return std::ranges::any_of(sensor.heritage(),
                             [&](const std::string& name) { return claims->inherit(name); });
}

/// Ranks that do not read it need not wait for it any more.
void Sampler::Shared::mark_ready(const Sensor& sensor) {
  for (const std::string& name : sensor.granted()) {
    claims->set_ready(name);
  }
}

void Sampler::Shared::settle(Source& source, std::uint64_t requests, bool settled) {
  if (settled && !source.settled) {
    mark_ready(*source.sensor);
  }
  const std::lock_guard lock(mutex);
  const bool changed = (settled && !source.settled) || source.read_requests_done != requests;
  if (settled && !source.settled) {
    source.settled = true;
    wake_metrics();
  }
  source.read_requests_done = requests;
  if (changed) {
    wake_owner.notify_all();
  }
}

/// Reads until the sampler stops or takes the last tick; true if the sensor must be opened anew.
bool Sampler::Shared::sample(std::size_t index, Nanoseconds sample_period) {
  Source& source = sources[index];
  const Sensor& sensor = *source.sensor;
  const std::size_t num_channels = sensor.channels().size();
  Nanoseconds deadline = clock.monotonic_now();
  Nanoseconds next_heritage = deadline + kHeritagePeriod;
  std::uint64_t missed = 0;
  CounterWatch watch(sensor, deadline);
  std::vector<RawReading> readings(num_channels);
  while (true) {
    std::uint64_t requests = 0;
    {
      const std::lock_guard lock(mutex);
      requests = read_requests;
    }
    if (num_channels > 0) {
      source.sensor->read(readings);
      push_readings(index, readings, missed);
    }
    missed = 0;
    const bool others_ready = std::ranges::all_of(
        sensor.elsewhere(), [&](const std::string& name) { return claims->is_ready(name); });
    settle(source, requests, others_ready);

    const Nanoseconds now = clock.monotonic_now();
    if (now >= deadline) {
      const auto passed = (now - deadline) / sample_period;
      missed = static_cast<std::uint64_t>(passed);
      deadline = start + ((now - start) / sample_period + 1) * sample_period;
    }
    if (owns_other_sources_now(sensor)) {
      return true;
    }
    if (now >= next_heritage) {
      next_heritage = now + kHeritagePeriod;
      if (inherits(sensor)) {
        return true;
      }
    }
    const bool waits_for_others = source.awaited && num_channels == 0 && !others_ready;
    Nanoseconds until = waits_for_others ? std::min(deadline, now + kReadyPoll)
                                         : watch.next(sensor, readings, now, deadline);
    std::unique_lock lock(mutex);
    if (is_spare(source)) {
      deadline = std::max(deadline, now + kSparePeriod);
      until = deadline;
    }
    wake_sources.wait_until(lock, time_point(until), [&] {
      return stop || last_tick_deadline || read_requests != requests;
    });
    if (stop) {
      return false;
    }
    if (last_tick_deadline) {
      lock.unlock();
      return inherits(sensor);  // of a rank that ended just before: at least to the end
    }
  }
}

void Sampler::Shared::sample_last_tick(std::size_t index) {
  Nanoseconds until{0};
  {
    const std::lock_guard lock(mutex);
    if (stop || !last_tick_deadline) {
      return;
    }
    until = *last_tick_deadline;
  }
  Source& source = sources[index];
  const auto channels = source.sensor->channels();
  if (channels.empty()) {
    return;
  }
  const Nanoseconds interval =
      std::max(kLastTickInterval, source.sensor->min_read_period() / kLastTickSlowdown);
  std::vector<std::optional<std::uint64_t>> first(channels.size());
  std::vector<RawReading> readings(channels.size());
  while (true) {
    source.sensor->read(readings);
    bool all_moved = true;
    for (std::size_t i = 0; i < channels.size(); ++i) {
      if (channels[i].behavior == Behavior::kCounter && readings[i].status == ReadStatus::kOk) {
        all_moved = all_moved && first[i] && *first[i] != readings[i].raw;
        first[i] = first[i].value_or(readings[i].raw);
      }
    }
    push_readings(index, readings);
    const Nanoseconds next = clock.monotonic_now() + interval;
    if (all_moved || next > until) {
      return;
    }
    std::unique_lock lock(mutex);
    wake_sources.wait_until(lock, time_point(next), [&] { return stop; });
    if (stop) {
      return;
    }
  }
}

}  // namespace joulescale
