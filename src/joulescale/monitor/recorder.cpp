// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/recorder.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "joulescale/base/file.h"

namespace joulescale {
namespace {

constexpr Nanoseconds kSecond = std::chrono::seconds(1);
constexpr Nanoseconds kClockStep = std::chrono::milliseconds(500);

/// CLOCK_BOOTTIME counts suspended time, CLOCK_MONOTONIC does not.
Nanoseconds boot_time_now() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::chrono::seconds(now.tv_sec) + Nanoseconds(now.tv_nsec);
}

}  // namespace

Recorder::Recorder(Sampler& sampler,
                   RotatingJournal journal,
                   Clock& clock,
                   std::shared_ptr<SourceClaims> claims)
    : sampler_(sampler), clock_(clock), claims_(std::move(claims)), journal_(std::move(journal)) {
  const Nanoseconds now = clock_.monotonic_now();
  first_wall_offset_ = clock_.wall_now() - now;
  wall_offset_ = first_wall_offset_;
  boot_offset_ = boot_time_now() - now;
  next_second_ = now + kSecond;
  note_journal(journal_->start(now, wall_offset_, boot_offset_));
  thread_ = std::thread([this] { run(); });
}

Recorder::~Recorder() { finish(); }

void Recorder::finish() {
  if (thread_.joinable()) {
    thread_.join();
  }
}

std::set<Domain> Recorder::wait_for_domains(std::set<Domain> wanted, Nanoseconds deadline) {
  std::unique_lock lock(mutex_);
  opened_.wait_until(lock, std::chrono::steady_clock::time_point(deadline), [&] {
    for (const Domain domain : open_domains_) {
      wanted.erase(domain);
    }
    return wanted.empty();
  });
  return wanted;
}

void Recorder::baseline_began(Nanoseconds time) {
  const std::lock_guard lock(mutex_);
  pending_baseline_ = time;
}

void Recorder::do_later(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
}

void Recorder::command_began(Nanoseconds time) {
  const std::lock_guard lock(mutex_);
  pending_begin_ = time;
}

void Recorder::command_ended(Nanoseconds time, bool by_signal, int status) {
  const std::lock_guard lock(mutex_);
  pending_end_ = {time, by_signal, status};
}

void Recorder::note_journal(const Result<void>& written) {
  if (!written) {
    journal_error_ = written.error().text();
    journal_.reset();  // a journal with a hole would be read as one without
  }
}

void Recorder::write_command_marks() {
  std::optional<Nanoseconds> baseline;
  std::optional<Nanoseconds> begin;
  std::optional<CommandEnd> end;
  {
    const std::lock_guard lock(mutex_);
    baseline = std::exchange(pending_baseline_, std::nullopt);
    begin = std::exchange(pending_begin_, std::nullopt);
    end = std::exchange(pending_end_, std::nullopt);
  }
  if (baseline) {
    has_baseline_ = true;
    meter_.keep_begin(*baseline);
  }
  if (begin) {
    if (has_baseline_) {
      idle_meter_ = meter_;
    }
    meter_.keep_begin(*begin);
    if (journal_) {
      note_journal(journal_->begin(*begin, meter_));
    }
  }
  if (end && journal_) {
    note_journal(journal_->end(end->time, end->by_signal, end->status));
  }
}

void Recorder::run() {
  while (true) {
    std::deque<SamplerEvent> events = sampler_.take_events(next_second_);
    for (SamplerEvent& event : events) {
      take(event);
    }
    write_command_marks();
    const Nanoseconds now = clock_.monotonic_now();
    if (now >= next_second_) {
      once_a_second(now);
    }
    if (sampler_.drained()) {
      break;
    }
  }
  if (journal_) {
    note_journal(journal_->finish(clock_.monotonic_now(), meter_));
  }
}

void Recorder::once_a_second(Nanoseconds now) {
  next_second_ = now + kSecond;
  if (journal_) {
    note_journal(journal_->sync(now, meter_));
  }
  std::vector<std::function<void()>> tasks;
  {
    const std::lock_guard lock(mutex_);
    tasks.swap(tasks_);
  }
  for (const std::function<void()>& task : tasks) {
    task();
  }
  if (claims_) {
    claims_->verify();
  }
  const Nanoseconds before = clock_.monotonic_now();
  const Nanoseconds wall_offset = clock_.wall_now() - before;
  const Nanoseconds boot_offset = boot_time_now() - before;
  const bool slept = boot_offset - boot_offset_ > kClockStep;
  suspended_ = suspended_ || slept;
  clock_stepped_ =
      clock_stepped_ || (!slept && std::chrono::abs(wall_offset - wall_offset_) > kClockStep);
  wall_offset_ = wall_offset;
  boot_offset_ = boot_offset;
}

void Recorder::note_source(const SamplerEvent& event) {
  const auto note = [&](const std::string& text, bool is_missing) {
    // A library that is missing is missed by two sensors.
    if (is_missing ||
        std::ranges::find(source_notes_, text, &SourceNote::note) == source_notes_.end()) {
      source_notes_.insert({event.name, "", text, is_missing});
    }
  };
  for (const std::string& text : event.notes) {
    if (event.error.find(text) == std::string::npos) {  // which most often is made of the notes
      note(text, false);
    }
  }
  if (!event.error.empty()) {
    note(event.error, !event.missing.empty());
    return;
  }
  for (const std::string& text : event.missing) {
    note(text, true);
  }
}

/// Of a sensor whose sources another rank reads: whether they give all that they may is for that
/// one to judge.
void Recorder::note_domains_elsewhere(const std::string& sensor) {
  if (sensor == "powercap" || sensor == "perf") {
    open_domains_.insert({Domain::kCpu, Domain::kDram});
  } else if (sensor == "nvml") {
    open_domains_.insert(Domain::kGpu);
  }
}

void Recorder::take(SamplerEvent& event) {
  switch (event.kind) {
    case SamplerEvent::Kind::kOpened: {
      const std::size_t number = meter_.add_sensor(event.channels, event.sample_period);
      meter_number_[event.sensor] = number;
      if (journal_) {
        note_journal(journal_->sensor(number, event.sample_period, event.channels));
      }
      const std::lock_guard lock(mutex_);
      shared_ = shared_ || !event.elsewhere.empty();
      for (const Channel& channel : event.channels) {
        if (channel.provenance != Provenance::kEstimated && channel.quantity != Quantity::kMetric) {
          open_domains_.insert(channel.domain);
        }
      }
      if (!event.elsewhere.empty()) {
        note_domains_elsewhere(event.name);
      }
      opened_.notify_all();
      [[fallthrough]];
    }
    case SamplerEvent::Kind::kFailed:
      note_source(event);
      if (!event.devices.empty()) {
        devices_ =
            std::move(event.devices);  // one source finds GPUs; opened anew, it finds them anew
      }
      break;
    case SamplerEvent::Kind::kReadings: {
      const std::size_t number = meter_number_.at(event.sensor);
      if (event.missed > 0) {
        meter_.add_missed(number, event.missed);
        if (journal_) {
          note_journal(journal_->missed(number, event.missed));
        }
      }
      meter_.add(number, event.readings);
      if (journal_) {
        note_journal(journal_->readings(number, event.readings));
      }
      break;
    }
  }
}

}  // namespace joulescale
