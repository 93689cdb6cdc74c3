// SPDX-License-Identifier: Apache-2.0
// Takes the sampler's events into the journal and the node's meter, on a thread of its own, so that
// neither a slow disk nor a slow source holds up the command.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "joulescale/base/clock.h"
#include "joulescale/monitor/journal_rotation.h"
#include "joulescale/monitor/node_meter.h"
#include "joulescale/monitor/sampler.h"

namespace joulescale {

class Recorder {
 public:
  /// The sampler must outlive the recorder.
  Recorder(Sampler& sampler,
           RotatingJournal journal,
           Clock& clock,
           std::shared_ptr<SourceClaims> claims = nullptr);
  /// finish()es if that was not done; the sampler must be stopped before.
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Waits until a sensor (no estimate) of each domain is open; returns those still missing at
  /// `deadline`. What another process of the launch reads is not missing.
  std::set<Domain> wait_for_domains(std::set<Domain> wanted, Nanoseconds deadline);
  /// Has the recorder's thread do what need not delay the command: within a second, or not at all
  /// if the run ends before. Thread safe.
  void do_later(std::function<void()> task);
  /// Thread safe.
  void baseline_began(Nanoseconds time);
  void command_began(Nanoseconds time);
  void command_ended(Nanoseconds time, bool by_signal, int status);
  /// Waits for the thread to take what is left; call it after Sampler::stop().
  void finish();

  // After finish(), or in a task of do_later():
  NodeMeter& meter() { return meter_; }
  /// What was measured up to the command's start; nothing without a baseline.
  NodeMeter* idle_meter() { return idle_meter_ ? &*idle_meter_ : nullptr; }
  const std::vector<DeviceInfo>& devices() const { return devices_; }
  /// What the sources said of themselves, without the node.
  const std::set<SourceNote>& source_notes() const { return source_notes_; }
  /// Another process of the launch read some source for some time.
  bool shared() const { return shared_; }
  /// The journal no longer has every reading, though all that totals need.
  bool journal_is_thinned() const { return journal_ && journal_->is_thinned(); }
  /// Why the journal is not complete; empty if it is.
  const std::string& journal_error() const { return journal_error_; }
  /// Of the wall clock from the monotonic one, when the recorder was made.
  Nanoseconds wall_offset_at_start() const { return first_wall_offset_; }
  bool clock_stepped() const { return clock_stepped_; }
  bool suspended() const { return suspended_; }

 private:
  struct CommandEnd {
    Nanoseconds time{0};
    bool by_signal = false;
    int status = 0;
  };

  void run();
  void take(SamplerEvent& event);
  void note_source(const SamplerEvent& event);
  void note_domains_elsewhere(const std::string& sensor);
  void once_a_second(Nanoseconds now);
  void write_command_marks();
  void note_journal(const Result<void>& written);

  Sampler& sampler_;
  Clock& clock_;
  std::shared_ptr<SourceClaims> claims_;
  std::optional<RotatingJournal> journal_;
  NodeMeter meter_{NodeMeter::Keep::kTotals};
  std::optional<NodeMeter> idle_meter_;
  std::map<std::size_t, std::size_t> meter_number_;  // of a sampler's sensor
  std::vector<DeviceInfo> devices_;
  std::set<SourceNote> source_notes_;
  bool shared_ = false;
  bool has_baseline_ = false;
  std::string journal_error_;
  bool clock_stepped_ = false;
  bool suspended_ = false;
  Nanoseconds first_wall_offset_{0};
  Nanoseconds wall_offset_{0};
  Nanoseconds boot_offset_{0};
  Nanoseconds next_second_{0};

  std::mutex mutex_;
  std::condition_variable opened_;
  std::set<Domain> open_domains_;
  std::vector<std::function<void()>> tasks_;
  std::optional<Nanoseconds> pending_baseline_;
  std::optional<Nanoseconds> pending_begin_;
  std::optional<CommandEnd> pending_end_;
  std::thread thread_;
};

}  // namespace joulescale
