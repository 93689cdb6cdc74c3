// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/sampler.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <system_error>

namespace joulescale {
namespace {

/// Beyond this many unread events (a disk that hangs) readings are dropped and counted as missed.
constexpr std::size_t kMostEvents = 200'000;
constexpr Nanoseconds kLastTickInterval = std::chrono::milliseconds(1);
constexpr int kLastTickSlowdown = 5;  // of a sensor's own least period
constexpr Nanoseconds kReadyPoll = std::chrono::milliseconds(5);

std::chrono::steady_clock::time_point time_point(Nanoseconds monotonic) {
  return std::chrono::steady_clock::time_point(monotonic);
}

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

struct Sampler::Shared {
  struct Source {
    std::unique_ptr<Sensor> sensor;
    bool settled = false;  // failed, or gave its first readings
    bool ended = false;
    std::uint64_t read_requests_done = 0;
  };

  Shared(Clock& the_clock, std::shared_ptr<SourceClaims> the_claims)
      : clock(the_clock), claims(std::move(the_claims)) {}

  Clock& clock;
  std::shared_ptr<SourceClaims> claims;
  Nanoseconds period{0};
  mutable std::mutex mutex;
  std::condition_variable wake_sources;
  std::condition_variable wake_owner;
  std::vector<Source> sources;
  std::deque<SamplerEvent> events;
  std::uint64_t read_requests = 0;
  std::optional<Nanoseconds> last_tick_deadline;
  bool stop = false;
  bool all_ended = false;

  void run(std::size_t index);
  bool open(std::size_t index, Nanoseconds& sample_period);
  bool sample(std::size_t index, Nanoseconds sample_period);
  void settle(Source& source, std::uint64_t requests, bool settled);
  bool owns_other_sources_now(const Sensor& sensor);
  void sample_last_tick(std::size_t index);
  void push(SamplerEvent event);
  void give_up(std::size_t index, const std::string& reason);
};

void Sampler::Shared::push(SamplerEvent event) {
  const std::lock_guard lock(mutex);
  if (events.size() >= kMostEvents && event.kind == SamplerEvent::Kind::kReadings) {
    events.back().missed += 1 + event.missed;
    return;
  }
  events.push_back(std::move(event));
  wake_owner.notify_all();
}

void Sampler::Shared::give_up(std::size_t index, const std::string& reason) {
  SamplerEvent event;
  event.kind = SamplerEvent::Kind::kFailed;
  event.sensor = index;
  event.name = sources[index].sensor->name();
  event.error = reason;
  push(std::move(event));
  const std::lock_guard lock(mutex);
  sources[index].settled = true;
  sources[index].ended = true;
}

void Sampler::Shared::run(std::size_t index) {
  leave_inherited_core();
  Sensor& sensor = *sources[index].sensor;
  if (claims) {
    sensor.share([this](const std::string& name) { return claims->claim(name); });
  }
  Nanoseconds sample_period{0};
  while (open(index, sample_period)) {
    if (sample(index, sample_period)) {
      continue;
    }
    sample_last_tick(index);
    break;
  }
  sensor.close();
  const std::lock_guard lock(mutex);
  sources[index].ended = true;
  sources[index].settled = true;
  wake_owner.notify_all();
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
  event.elsewhere = sensor.elsewhere();
  if (!opened) {
    event.error = opened.error().text();
    push(std::move(event));
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
  push(std::move(event));
  return true;
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

void Sampler::Shared::settle(Source& source, std::uint64_t requests, bool settled) {
  if (claims && settled && !source.settled) {
    for (const std::string& name : source.sensor->granted()) {
      claims->set_ready(name);
    }
  }
  const std::lock_guard lock(mutex);
  source.settled = source.settled || settled;
  source.read_requests_done = requests;
  wake_owner.notify_all();
}

/// Reads until the sampler stops or takes the last tick; true if the sensor must be opened anew.
bool Sampler::Shared::sample(std::size_t index, Nanoseconds sample_period) {
  Source& source = sources[index];
  const Sensor& sensor = *source.sensor;
  const std::size_t num_channels = sensor.channels().size();
  Nanoseconds deadline = clock.monotonic_now();
  std::uint64_t missed = 0;
  while (true) {
    std::uint64_t requests = 0;
    {
      const std::lock_guard lock(mutex);
      requests = read_requests;
    }
    if (num_channels > 0) {
      SamplerEvent event;
      event.sensor = index;
      event.readings.resize(num_channels);
      event.missed = missed;
      source.sensor->read(event.readings);
      push(std::move(event));
    }
    missed = 0;
    const bool others_ready = std::ranges::all_of(
        sensor.elsewhere(), [&](const std::string& name) { return claims->is_ready(name); });
    settle(source, requests, others_ready);

    const Nanoseconds now = clock.monotonic_now();
    if (now >= deadline) {
      const auto passed = (now - deadline) / sample_period;
      missed = static_cast<std::uint64_t>(passed);
      deadline += (passed + 1) * sample_period;
    }
    if (owns_other_sources_now(sensor)) {
      return true;
    }
    const bool waits_for_others = num_channels == 0 && !others_ready;
    const Nanoseconds until = waits_for_others ? std::min(deadline, now + kReadyPoll) : deadline;
    std::unique_lock lock(mutex);
    wake_sources.wait_until(lock, time_point(until), [&] {
      return stop || last_tick_deadline || read_requests != requests;
    });
    if (stop || last_tick_deadline) {
      return false;
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
  while (true) {
    SamplerEvent event;
    event.sensor = index;
    event.readings.resize(channels.size());
    source.sensor->read(event.readings);
    bool all_moved = true;
    for (std::size_t i = 0; i < channels.size(); ++i) {
      if (channels[i].behavior == Behavior::kCounter &&
          event.readings[i].status == ReadStatus::kOk) {
        all_moved = all_moved && first[i] && *first[i] != event.readings[i].raw;
        first[i] = first[i].value_or(event.readings[i].raw);
      }
    }
    push(std::move(event));
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

Sampler::Sampler(std::vector<std::unique_ptr<Sensor>> sensors,
                 Nanoseconds period,
                 Clock& clock,
                 std::shared_ptr<SourceClaims> claims)
    : shared_(std::make_shared<Shared>(clock, std::move(claims))) {
  shared_->period = period;
  for (auto& sensor : sensors) {
    shared_->sources.emplace_back().sensor = std::move(sensor);
  }
  for (std::size_t i = 0; i < shared_->sources.size(); ++i) {
    try {
      threads_.emplace_back([shared = shared_, i] { shared->run(i); });
    } catch (const std::system_error& error) {  // no more threads: the source is missing
      shared_->give_up(i, error.what());
    }
  }
}

Sampler::~Sampler() { stop(std::chrono::seconds(2)); }

bool Sampler::wait_ready(Nanoseconds deadline) {
  std::unique_lock lock(shared_->mutex);
  return shared_->wake_owner.wait_until(lock, time_point(deadline), [&] {
    return std::ranges::all_of(shared_->sources, &Shared::Source::settled);
  });
}

void Sampler::read_now(Nanoseconds deadline) {
  std::unique_lock lock(shared_->mutex);
  const std::uint64_t request = ++shared_->read_requests;
  shared_->wake_sources.notify_all();
  shared_->wake_owner.wait_until(lock, time_point(deadline), [&] {
    return std::ranges::all_of(shared_->sources, [&](const Shared::Source& source) {
      return !source.settled || source.ended || source.read_requests_done >= request;
    });
  });
}

void Sampler::read_last_tick(Nanoseconds deadline) {
  std::unique_lock lock(shared_->mutex);
  shared_->last_tick_deadline = deadline;
  shared_->wake_sources.notify_all();
  shared_->wake_owner.wait_until(lock, time_point(deadline), [&] {
    return std::ranges::all_of(shared_->sources, &Shared::Source::ended);
  });
}

bool Sampler::stop(Nanoseconds patience) {
  if (stopped_) {
    return true;
  }
  stopped_ = true;
  bool ended = false;
  {
    std::unique_lock lock(shared_->mutex);
    shared_->stop = true;
    shared_->wake_sources.notify_all();
    ended = shared_->wake_owner.wait_until(
        lock, time_point(shared_->clock.monotonic_now() + patience), [&] {
          return std::ranges::all_of(shared_->sources, &Shared::Source::ended);
        });
    shared_->all_ended = true;
    shared_->wake_owner.notify_all();
  }
  for (std::thread& thread : threads_) {
    if (ended) {
      thread.join();
    } else {
      thread.detach();
    }
  }
  threads_.clear();
  return ended;
}

std::optional<SamplerEvent> Sampler::next_event(Nanoseconds deadline) {
  std::unique_lock lock(shared_->mutex);
  shared_->wake_owner.wait_until(
      lock, time_point(deadline), [&] { return !shared_->events.empty() || shared_->all_ended; });
  if (shared_->events.empty()) {
    return std::nullopt;
  }
  SamplerEvent event = std::move(shared_->events.front());
  shared_->events.pop_front();
  return event;
}

bool Sampler::drained() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->all_ended && shared_->events.empty();
}

}  // namespace joulescale
