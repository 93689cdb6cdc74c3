// SPDX-License-Identifier: Apache-2.0
// Reads every sensor at its own pace: one thread a sensor, so that a slow or hanging source delays
// no other. Absolute deadlines on the monotonic clock; late readings are counted, never made up.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "joulescale/base/clock.h"
#include "joulescale/monitor/source_claims.h"
#include "joulescale/sensors/sensor.h"

namespace joulescale {

/// What a sensor's thread has to say, in the order in which it happened.
struct SamplerEvent {
  enum class Kind { kOpened, kFailed, kReadings };
  Kind kind = Kind::kReadings;
  std::size_t sensor = 0;  // place in the list given to the sampler
  // kOpened
  std::string name;
  std::vector<Channel> channels;
  std::vector<std::string> notes;
  std::vector<std::string> missing;  // Sensor::missing()
  std::vector<DeviceInfo> devices;
  std::vector<std::string> elsewhere;  // sources that another process of the launch reads
  Nanoseconds sample_period{0};
  std::string error;  // kFailed: why, and what to do
  // kReadings
  std::vector<RawReading> readings;
  std::uint64_t missed = 0;  // deadlines that passed without a reading since the last one
};

/// Thread safe.
class Sampler {
 public:
  /// Starts the threads, which open their sensors. `period`: how often each is read, unless the
  /// sensor wants more time between readings. With `claims`, sources that other processes read are
  /// left to them, and taken over (kOpened comes again, with all channels) within a period when
  /// they are freed.
  Sampler(std::vector<std::unique_ptr<Sensor>> sensors,
          Nanoseconds period,
          Clock& clock,
          std::shared_ptr<SourceClaims> claims = nullptr);
  /// stop()s if that was not done.
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  // Sensors of metrics only are waited for by nobody: they open when the others are ready (or after
  // a second), and read once more when asked to.

  /// Until each sensor has failed or given its first readings, here or where it is read; false if
  /// `deadline` came first.
  bool wait_ready(Nanoseconds deadline);
  /// Has every sensor that is ready read at once; waits for that until `deadline`.
  void read_now(Nanoseconds deadline);
  /// From now on reads as fast as the sensors bear, until `deadline` or until each counter has
  /// moved once; then stops reading. For the last tick after the command's end.
  void read_last_tick(Nanoseconds deadline);
  /// Ends the threads. A thread that does not end within `patience` of the machine's time (a source
  /// that hangs; for one of metrics only a quarter of a second is enough) is left behind: false.
  bool stop(Nanoseconds patience);

  /// All events so far, in order. Waits until `deadline`, or until one came that is no reading,
  /// many readings have come together, or the sampler has stopped: its owner need not wake for
  /// each.
  std::deque<SamplerEvent> take_events(Nanoseconds deadline);
  /// Stopped, and no event is left.
  bool drained() const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;  // also held by the threads, which may be left behind
  std::vector<std::thread> threads_;
  bool stopped_ = false;
};

}  // namespace joulescale
