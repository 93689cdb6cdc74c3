// SPDX-License-Identifier: Apache-2.0
// What every energy source looks like to the monitor: a sensor with channels, read as raw integers
// in the source's own unit. Conversion to SI happens in monitor/ only, through si_per_raw_unit().
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "joulescale/base/clock.h"
#include "joulescale/base/error.h"
#include "joulescale/base/units.h"
#include "joulescale/record/run_record.h"

namespace joulescale {

/// Joules and watts are different quantities: a power channel is integrated, never summed. A metric
/// (utilisation, clock, temperature, bytes, CPU time...) is neither: it has accounts of its own
/// that know no joules.
enum class Quantity { kEnergy, kPower, kMetric };

/// "energy", "power", "metric".
std::string_view quantity_name(Quantity quantity);

/// kCounter: cumulative, only differences mean something. kGauge: a value of the moment.
enum class Behavior { kCounter, kGauge };

/// What a channel meters. kCpu, kDram and kGpu are disjoint and make up the total; the others
/// contain, or are contained in, one of these: they are shown and never added.
enum class Domain { kCpu, kDram, kGpu, kCpuCore, kCpuUncore, kPlatform, kModule };

/// "cpu", "dram", "gpu", "cpu_core", "cpu_uncore", "platform", "module": the component's name in
/// run.json.
std::string_view domain_name(Domain domain);
std::optional<Domain> domain_from_name(std::string_view name);
/// Whether the total counts the domain.
bool is_counted(Domain domain);
/// The names of the domains that share joules with this one.
std::vector<std::string> overlaps_of(Domain domain);

/// Journals hold the numbers: new ones come last, and kLastRawUnit with them.
enum class RawUnit {
  kMicrojoule,
  kMillijoule,
  kMilliwatt,
  kJouleOver2To16,  // 2^-16 J, of perf's energy events
  // Of metrics only:
  kPercent,
  kMegahertz,
  kCelsius,
  kByte,
  kMicrosecond,
  kBitMask,
};
inline constexpr RawUnit kLastRawUnit = RawUnit::kBitMask;

/// Joules, watts, or what reported_unit_name() says for one raw unit: the only conversion of units
/// in the product.
double si_per_raw_unit(RawUnit unit);
/// "uJ", "mJ", "mW", "2^-16 J".
std::string_view raw_unit_name(RawUnit unit);
/// "J", "W", "percent", "MHz", "degC", "B", "s", "bits".
std::string_view reported_unit_name(RawUnit unit);

/// Channel::plausible_power of a GPU is so many times its power limit.
inline constexpr double kPlausibleByLimit = 2.0;

struct Channel {
  std::string name;  // "powercap/package-0", "nvml/GPU-<uuid>/energy"; unique on a node
  Quantity quantity = Quantity::kEnergy;
  Behavior behavior = Behavior::kCounter;
  Domain domain = Domain::kCpu;
  RawUnit unit = RawUnit::kMicrojoule;
  /// Channels of one group meter the same joules, once: the total counts one of them, an energy
  /// counter before a power gauge. "package-0", "GPU-<uuid>".
  std::string overlap_group;
  /// Raw modulus of a counter that wraps; absent: a decrease is a reset.
  std::optional<std::uint64_t> counter_range;
  /// As documented or measured before; absent: unknown, and learned from the readings.
  std::optional<Nanoseconds> update_period;
  /// Of a power gauge: it shows the mean over the last such time, or may do so; 0: the moment's.
  Nanoseconds averaging{0};
  /// Nothing above this power is believed. Of an estimate: the highest that its model gives.
  Watts plausible_power{4000.0};
  Provenance provenance = Provenance::kMeasured;
  /// The vendor's or the literature's figure, or "unknown".
  std::string instrument_accuracy = "unknown";
  /// What an estimate is computed from; of a bit mask, the name of each bit by its number ("2").
  std::map<std::string, std::string> inputs;
};

/// Whether quantity, behavior and unit belong together: energy is a counter of joules, power a
/// gauge of watts, a metric anything but joules.
bool is_consistent(const Channel& channel);

enum class ReadStatus : std::uint8_t {
  kOk,
  kMissing,  // no value this time; the next read may have one
  kGone,     // the device is lost; no value will come any more
};

/// One channel at one moment. `raw` means something only with kOk. The times are CLOCK_MONOTONIC
/// just before and just after the value was read.
struct RawReading {
  ReadStatus status = ReadStatus::kMissing;
  std::uint64_t raw = 0;
  Nanoseconds before{0};
  Nanoseconds after{0};

  Nanoseconds middle() const { return before + (after - before) / 2; }
};

/// The reading that `value(time)` makes, a raw value or nothing, between the times before and
/// after.
template <typename Value>
RawReading timed_reading(Clock& clock, Value value) noexcept {
  RawReading reading;
  reading.before = clock.monotonic_now();
  const std::optional<std::uint64_t> raw = value(reading.before);
  reading.after = clock.monotonic_now();
  if (raw) {
    reading.status = ReadStatus::kOk;
    reading.raw = *raw;
  }
  return reading;
}

/// A GPU that a source found, whether it can be metered or not.
struct DeviceInfo {
  std::string uuid;
  std::string model;
  std::string driver;
  bool visible = true;     // to the command
  bool measured = true;    // has channels
  bool inherited = false;  // measured for another rank, whose command saw it and has ended
  bool mig = false;        // split into instances; its channels are those of the whole GPU
};

/// Asks for the right to read a source, which one process of a launch has at a time. True also for
/// what the caller holds already.
using SourceClaim = std::function<bool(const std::string& source)>;

/// How to find out when the counters of a sensor move: by reads every `interval`, for as long as
/// `limit`.
struct TickWatch {
  Nanoseconds interval{0};
  Nanoseconds limit{0};
};

/// Not thread safe; one thread opens, reads and closes a sensor.
class Sensor {
 public:
  virtual ~Sensor() = default;

  /// From the next open() on, the sensor has channels only for sources that `claim` grants.
  /// `inherit` grants only what another process has read before and reads no longer.
  void share(SourceClaim claim, SourceClaim inherit) {
    claim_ = std::move(claim);
    inherit_ = std::move(inherit);
  }
  /// What the last open() was granted, what other processes read, and what this one inherits should
  /// another process read it and end: "powercap", "perf", "estimate", the UUIDs of GPUs. All are
  /// empty for a sensor that is not shared.
  const std::vector<std::string>& granted() const { return granted_; }
  const std::vector<std::string>& elsewhere() const { return elsewhere_; }
  const std::vector<std::string>& heritage() const { return heritage_; }

  /// The name of the source in the catalogue ("powercap").
  virtual std::string_view name() const = 0;
  /// Finds the channels and probes each once; none, and no error, if other processes read them all.
  /// The error says what is missing and what to do. May be called again after close().
  virtual Result<void> open() = 0;
  /// Stable between open() and close(); empty outside.
  virtual std::span<const Channel> channels() const = 0;
  /// What a user should know about the source: zones left out and why.
  virtual std::span<const std::string> notes() const = 0;
  /// Sources that are there and should count in a node's total, and give nothing: a note each, with
  /// the remedy where one is known. Not in notes().
  virtual std::span<const std::string> missing() const { return {}; }
  /// The GPUs of the node, as found by open().
  virtual std::span<const DeviceInfo> devices() const { return {}; }
  /// The source is not asked more often than this while it is sampled.
  virtual Nanoseconds min_read_period() const { return Nanoseconds(0); }
  /// The sensor has metrics only: nobody waits for it, neither the command's start nor its end.
  virtual bool only_metrics() const { return false; }
  /// For a source whose counters move at a pace of their own that nobody documents.
  virtual std::optional<TickWatch> tick_watch() const { return std::nullopt; }
  /// Fills one reading a channel, in the order of channels(). Neither allocates nor logs.
  virtual void read(std::span<RawReading> out) noexcept = 0;
  /// May be called twice.
  virtual void close() noexcept = 0;

 protected:
  /// For open(): whether the source is this process's to read.
  bool may_read(const std::string& source);
  /// The same of a source that is another process's, as long as that one lives.
  bool may_inherit(const std::string& source);
  void forget_claims();

 private:
  SourceClaim claim_;
  SourceClaim inherit_;
  std::vector<std::string> granted_;
  std::vector<std::string> elsewhere_;
  std::vector<std::string> heritage_;
};

/// The command, for root, that lets this program have a capability: "setcap CAPABILITY+ep FILE".
std::string setcap_command(std::string_view capability);

/// How often each counter of an open sensor moves: reads every `interval` until each was seen to
/// move three times or `limit` has passed. Absent for a counter that moved less often.
std::vector<std::optional<Nanoseconds>> probe_update_periods(Sensor& sensor,
                                                             Clock& clock,
                                                             Nanoseconds interval,
                                                             Nanoseconds limit);

}  // namespace joulescale
