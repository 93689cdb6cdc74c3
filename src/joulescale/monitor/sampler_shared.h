// SPDX-License-Identifier: Apache-2.0
// What a sampler and the threads of its sources share. Only for the sampler's .cpp files.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "joulescale/monitor/sampler.h"

namespace joulescale {

/// A time of the monotonic clock, for condition variables.
inline std::chrono::steady_clock::time_point time_point(Nanoseconds monotonic) {
  return std::chrono::steady_clock::time_point(monotonic);
}

struct Sampler::Shared {
  /// Taken at once when so many wait, lest memory grow with the rate.
  static constexpr std::size_t kManyEvents = 256;

  struct Source {
    std::unique_ptr<Sensor> sensor;
    bool awaited = true;   // has more than metrics
    bool settled = false;  // failed, or gave its first readings
    bool ended = false;
    std::uint64_t read_requests_done = 0;
    std::set<Domain> measures;   // by an instrument
    std::set<Domain> estimates;  // by a model
  };

  Shared(Clock& the_clock, std::shared_ptr<SourceClaims> the_claims)
      : clock(the_clock), claims(std::move(the_claims)) {}

  Clock& clock;
  std::shared_ptr<SourceClaims> claims;
  Nanoseconds period{0};
  Nanoseconds start{0};  // deadlines are whole periods from here, so that sources wake together
  mutable std::mutex mutex;
  std::condition_variable wake_sources;
  std::condition_variable wake_owner;
  std::condition_variable wake_taker;  // of events
  std::vector<Source> sources;
  std::deque<SamplerEvent> events;
  bool urgent = false;  // some event is no reading
  std::uint64_t read_requests = 0;
  std::optional<Nanoseconds> last_tick_deadline;
  bool stop = false;
  bool all_ended = false;

  void run(std::size_t index);
  bool open(std::size_t index, Nanoseconds& sample_period);
  bool sample(std::size_t index, Nanoseconds sample_period);
  void mark_ready(const Sensor& sensor);
  void settle(Source& source, std::uint64_t requests, bool settled);
  bool owns_other_sources_now(const Sensor& sensor);
  bool inherits(const Sensor& sensor);
  void note_domains(std::size_t index, std::span<const Channel> channels);
  bool is_spare(const Source& source) const;
  void sample_last_tick(std::size_t index);
  bool wait_for_awaited();
  void wake_metrics();
  void read_if_asked(std::size_t index);
  bool all_awaited(bool Source::* state) const;
  void push(SamplerEvent event);
  void push_readings(std::size_t index, std::vector<RawReading> readings, std::uint64_t missed = 0);
  void end(std::size_t index);
  void give_up(std::size_t index, const std::string& reason);
  void name_hanging_sources();
};

}  // namespace joulescale
