// SPDX-License-Identifier: Apache-2.0
#include "joulescale/sensors/survey.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace joulescale {
namespace {

constexpr Nanoseconds kWatchInterval = std::chrono::milliseconds(2);
/// Of a sensor's own least period, as for the last tick of a run.
constexpr int kWatchSlowdown = 5;

/// What a source's thread and the caller share; outlives both.
struct Slot {
  std::string name;
  std::unique_ptr<Sensor> sensor;
  std::mutex mutex;
  std::condition_variable answered;
  std::optional<SourceSurvey> survey;
  std::thread thread;
};

bool lacks_period(const Channel& channel) {
  return channel.behavior == Behavior::kCounter && !channel.update_period &&
         channel.quantity == Quantity::kEnergy && channel.provenance != Provenance::kEstimated;
}

void watch_counters(Sensor& sensor, Clock& clock, Nanoseconds end, SourceSurvey& survey) {
  const Nanoseconds left = end - clock.monotonic_now();
  if (left <= Nanoseconds(0) || std::ranges::none_of(survey.channels, lacks_period)) {
    return;
  }
  const auto wanted = sensor.tick_watch();
  const Nanoseconds interval =
      wanted ? wanted->interval
             : std::max(kWatchInterval, sensor.min_read_period() / kWatchSlowdown);
  const auto periods = probe_update_periods(sensor, clock, interval, left);
  for (std::size_t i = 0; i < survey.channels.size(); ++i) {
    Channel& channel = survey.channels[i];
    if (!lacks_period(channel)) {
      continue;
    }
    channel.update_period = periods[i];
    if (!periods[i]) {
      survey.notes.push_back(
          fmt::format("{} hardly moved while it was watched; a counter that rests gives no value",
                      channel.name));
    }
  }
}

SourceSurvey survey_source(Sensor& sensor, Clock& clock, Nanoseconds watch) {
  SourceSurvey survey;
  survey.name = sensor.name();
  const Nanoseconds end = clock.monotonic_now() + watch;
  const auto opened = sensor.open();
  survey.available = opened.ok();
  if (!opened) {
    survey.reason = opened.error().text();
  }
  survey.channels.assign(sensor.channels().begin(), sensor.channels().end());
  survey.notes.assign(sensor.missing().begin(), sensor.missing().end());
  survey.notes.insert(survey.notes.end(), sensor.notes().begin(), sensor.notes().end());
  std::erase_if(survey.notes, [&](const std::string& note) {  // the reason may be made of them
    return survey.reason.find(note) != std::string::npos;
  });
  watch_counters(sensor, clock, end, survey);
  sensor.close();
  return survey;
}

}  // namespace

Survey survey_sources(std::vector<std::unique_ptr<Sensor>> sensors,
                      Clock& clock,
                      const SurveyLimits& limits) {
  std::vector<std::shared_ptr<Slot>> slots;
  const auto deadline = std::chrono::steady_clock::now() + limits.answer;
  for (auto& sensor : sensors) {
    auto slot = slots.emplace_back(std::make_shared<Slot>());
    slot->name = sensor->name();
    slot->sensor = std::move(sensor);
    try {
      slot->thread = std::thread([slot, &clock, watch = limits.watch] {
        SourceSurvey survey = survey_source(*slot->sensor, clock, watch);
        slot->sensor.reset();
        const std::lock_guard lock(slot->mutex);
        slot->survey = std::move(survey);
        slot->answered.notify_all();
      });
    } catch (const std::system_error&) {  // no more threads
      slot->survey = survey_source(*slot->sensor, clock, limits.watch);
    }
  }
  Survey result;
  for (const auto& slot : slots) {
    std::unique_lock lock(slot->mutex);
    if (slot->answered.wait_until(lock, deadline, [&] { return slot->survey.has_value(); })) {
      result.sources.push_back(std::move(*slot->survey));
      lock.unlock();
      if (slot->thread.joinable()) {
        slot->thread.join();
      }
      continue;
    }
    slot->thread.detach();
    result.left_threads = true;
    SourceSurvey& silent = result.sources.emplace_back();
    silent.name = slot->name;
    silent.reason = fmt::format(
        "did not answer within {:g} s; see whether its driver hangs (dmesg), a monitor goes on "
        "without it",
        to_seconds(limits.answer).value());
  }
  return result;
}

}  // namespace joulescale
