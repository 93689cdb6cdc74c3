// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/sampler.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "joulescale/monitor/sampler_shared.h"

namespace joulescale {
namespace {

constexpr Nanoseconds kMetricsStopPatience = std::chrono::milliseconds(250);

}  // namespace

/// Call it with the lock held.
void Sampler::Shared::name_hanging_sources() {
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (!sources[i].ended) {
      SamplerEvent& event = events.emplace_back();
      event.kind = SamplerEvent::Kind::kFailed;
      event.sensor = i;
      event.name = sources[i].sensor->name();
      event.error = "did not answer at the end of the run";
      if (sources[i].awaited && !sources[i].settled) {  // nor ever before
        event.missing.push_back(event.error);
      }
    }
  }
}

Sampler::Sampler(std::vector<std::unique_ptr<Sensor>> sensors,
                 Nanoseconds period,
                 Clock& clock,
                 std::shared_ptr<SourceClaims> claims)
    : shared_(std::make_shared<Shared>(clock, std::move(claims))) {
  shared_->period = period;
  shared_->start = clock.monotonic_now();
  for (auto& sensor : sensors) {
    Shared::Source& source = shared_->sources.emplace_back();
    source.awaited = !sensor->only_metrics();
    source.sensor = std::move(sensor);
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
  return shared_->wake_owner.wait_until(
      lock, time_point(deadline), [&] { return shared_->all_awaited(&Shared::Source::settled); });
}

void Sampler::read_now(Nanoseconds deadline) {
  std::unique_lock lock(shared_->mutex);
  const std::uint64_t request = ++shared_->read_requests;
  shared_->wake_sources.notify_all();
  shared_->wake_owner.wait_until(lock, time_point(deadline), [&] {
    return std::ranges::all_of(shared_->sources, [&](const Shared::Source& source) {
      return !source.awaited || !source.settled || source.ended ||
             source.read_requests_done >= request;
    });
  });
}

void Sampler::read_last_tick(Nanoseconds deadline) {
  std::unique_lock lock(shared_->mutex);
  shared_->last_tick_deadline = deadline;
  shared_->wake_sources.notify_all();
  shared_->wake_owner.wait_until(
      lock, time_point(deadline), [&] { return shared_->all_awaited(&Shared::Source::ended); });
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
    const auto now = std::chrono::steady_clock::now();
    shared_->wake_owner.wait_until(
        lock, now + patience, [&] { return shared_->all_awaited(&Shared::Source::ended); });
    const Nanoseconds metrics_patience = std::min(patience, kMetricsStopPatience);
    ended = shared_->wake_owner.wait_until(lock, now + metrics_patience, [&] {
      return std::ranges::all_of(shared_->sources, &Shared::Source::ended);
    });
    shared_->name_hanging_sources();
    shared_->all_ended = true;
    shared_->wake_taker.notify_all();
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

std::deque<SamplerEvent> Sampler::take_events(Nanoseconds deadline) {
  std::unique_lock lock(shared_->mutex);
  shared_->wake_taker.wait_until(lock, time_point(deadline), [&] {
    return shared_->urgent || shared_->events.size() >= Shared::kManyEvents || shared_->all_ended;
  });
  shared_->urgent = false;
  return std::exchange(shared_->events, {});
}

bool Sampler::drained() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->all_ended && shared_->events.empty();
}

}  // namespace joulescale
