// SPDX-License-Identifier: Apache-2.0
// A GPU's power: the instant field where the driver has it, else the average field, else
// nvmlDeviceGetPowerUsage (NVML API reference, "Field Value Enums": 185 and 186, mW, scopes GPU and
// module). A field value brings its own wall-clock time, which becomes the reading's.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "joulescale/base/clock.h"
#include "joulescale/sensors/nvml/nvml_library.h"
#include "joulescale/sensors/sensor.h"

namespace joulescale {

enum class NvmlPowerKind {
  kInstant,  // of the last moments: 25 ms on Hopper
  kAverage,  // over about a second
  kUsage,    // instant or average, as the GPU's generation has it
};

/// "power_instant", "power_average", "power": the end of the channel's name.
std::string_view power_kind_name(NvmlPowerKind kind);

/// Power in mW of one device and scope. Not thread safe.
class NvmlPower {
 public:
  /// Nothing if the device does not give this kind now; `code` tells why. kUsage has the GPU scope
  /// only.
  static std::optional<NvmlPower> probe(const NvmlFunctions& nvml,
                                        NvmlDevice device,
                                        NvmlPowerKind kind,
                                        unsigned scope,
                                        Clock& clock,
                                        NvmlReturn& code);

  NvmlPowerKind kind() const { return kind_; }
  /// The last value read.
  std::uint64_t power_mw() const { return last_.raw; }
  /// A field value that was not refreshed since the last call gives the same reading again, times
  /// included: it is the same sample. One whose time cannot be (a step of the wall clock since) is
  /// missing.
  RawReading read() noexcept;

 private:
  NvmlPower(const NvmlFunctions& nvml,
            NvmlDevice device,
            NvmlPowerKind kind,
            unsigned scope,
            Clock& clock)
      : nvml_(&nvml), device_(device), kind_(kind), scope_(scope), clock_(&clock) {}
  RawReading read_usage() noexcept;
  RawReading read_field() noexcept;

  const NvmlFunctions* nvml_;
  NvmlDevice device_;
  NvmlPowerKind kind_;
  unsigned scope_;
  Clock* clock_;
  NvmlReturn code_ = kNvmlSuccess;
  std::int64_t last_timestamp_us_ = 0;
  RawReading last_;
};

/// The status of a reading whose call returned `code`.
ReadStatus read_status_of(NvmlReturn code);

}  // namespace joulescale
