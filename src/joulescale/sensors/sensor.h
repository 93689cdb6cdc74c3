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

/// Joules and watts are different quantities: a power channel is integrated, never summed.
enum class Quantity { kEnergy, kPower };

/// kCounter: cumulative, only differences mean something. kGauge: a value of the moment.
enum class Behavior { kCounter, kGauge };

/// What a channel meters. kCpu, kDram and kGpu are disjoint and make up the total; the others
/// contain, or are contained in, one of these: they are shown and never added.
enum class Domain { kCpu, kDram, kGpu, kCpuCore, kCpuUncore, kPlatform };

/// "cpu", "dram", "gpu", "cpu_core", "cpu_uncore", "platform": the component's name in run.json.
std::string_view domain_name(Domain domain);
std::optional<Domain> domain_from_name(std::string_view name);
/// Whether the total counts the domain.
bool is_counted(Domain domain);
/// The names of the domains that share joules with this one.
std::vector<std::string> overlaps_of(Domain domain);

enum class RawUnit { kMicrojoule, kMillijoule, kMilliwatt };

/// Joules or watts for one raw unit: the only conversion of units in the product.
double si_per_raw_unit(RawUnit unit);
/// "uJ", "mJ", "mW".
std::string_view raw_unit_name(RawUnit unit);

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
  /// Seen at open(), else absent: unknown.
  std::optional<Nanoseconds> update_period;
  /// Nothing above this power is believed.
  Watts plausible_power{4000.0};
  Provenance provenance = Provenance::kMeasured;
  /// The vendor's or the literature's figure, or "unknown".
  std::string instrument_accuracy = "unknown";
  /// What an estimate is computed from; empty for real sensors.
  std::map<std::string, std::string> inputs;
};

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
};

/// A GPU that a source found, whether it can be metered or not.
struct DeviceInfo {
  std::string uuid;
  std::string model;
  std::string driver;
  bool visible = true;   // to the command
  bool measured = true;  // has channels
  bool mig = false;      // split into instances; its channels are those of the whole GPU
};

/// Asks for the right to read a source, which one process of a launch has at a time. True also for
/// what the caller holds already.
using SourceClaim = std::function<bool(const std::string& source)>;

/// Not thread safe; one thread opens, reads and closes a sensor.
class Sensor {
 public:
  virtual ~Sensor() = default;

  /// From the next open() on, the sensor has channels only for sources that `claim` grants.
  void share(SourceClaim claim) { claim_ = std::move(claim); }
  /// What the last open() was granted, and what other processes read: "powercap", "estimate", the
  /// UUIDs of GPUs. Both are empty for a sensor that is not shared.
  const std::vector<std::string>& granted() const { return granted_; }
  const std::vector<std::string>& elsewhere() const { return elsewhere_; }

  /// The name of the source in the catalogue ("powercap").
  virtual std::string_view name() const = 0;
  /// Finds the channels and probes each once; none, and no error, if other processes read them all.
  /// The error says what is missing and what to do. May be called again after close().
  virtual Result<void> open() = 0;
  /// Stable between open() and close(); empty outside.
  virtual std::span<const Channel> channels() const = 0;
  /// What a user should know about the source: zones left out and why.
  virtual std::span<const std::string> notes() const = 0;
  /// The GPUs of the node, as found by open().
  virtual std::span<const DeviceInfo> devices() const { return {}; }
  /// The source is not asked more often than this while it is sampled.
  virtual Nanoseconds min_read_period() const { return Nanoseconds(0); }
  /// Fills one reading a channel, in the order of channels(). Neither allocates nor logs.
  virtual void read(std::span<RawReading> out) noexcept = 0;
  /// May be called twice.
  virtual void close() noexcept = 0;

 protected:
  /// For open(): whether the source is this process's to read.
  bool may_read(const std::string& source);
  void forget_claims();

 private:
  SourceClaim claim_;
  std::vector<std::string> granted_;
  std::vector<std::string> elsewhere_;
};

/// How often each counter of an open sensor moves: reads every `interval` until each was seen to
/// move three times or `limit` has passed. Absent for a counter that moved less often.
std::vector<std::optional<Nanoseconds>> probe_update_periods(Sensor& sensor,
                                                             Clock& clock,
                                                             Nanoseconds interval,
                                                             Nanoseconds limit);

}  // namespace joulescale
