// SPDX-License-Identifier: Apache-2.0
// The one system call of the perf source, as an interface: tests put their own counters behind it.
#pragma once

#include <cstdint>
#include <optional>

namespace joulescale {

/// Not thread safe.
class PerfEvents {
 public:
  virtual ~PerfEvents() = default;
  /// Starts to count one event of a PMU on one CPU, for all processes: a number that is not
  /// negative for read() and close(), else the negative errno. The count begins with 0.
  virtual int open(std::uint32_t pmu_type, std::uint64_t config, int cpu) noexcept = 0;
  virtual std::optional<std::uint64_t> read(int event) noexcept = 0;
  virtual void close(int event) noexcept = 0;
};

/// perf_event_open(2) of this machine's kernel. Has no state; any number of users.
PerfEvents& system_perf_events();

}  // namespace joulescale
