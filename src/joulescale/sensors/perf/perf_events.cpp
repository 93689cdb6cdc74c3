// SPDX-License-Identifier: Apache-2.0
#include "joulescale/sensors/perf/perf_events.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace joulescale {
namespace {

class KernelPerfEvents final : public PerfEvents {
 public:
  int open(std::uint32_t pmu_type, std::uint64_t config, int cpu) noexcept override {
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    attributes.type = pmu_type;
    attributes.config = config;
    const long fd = ::syscall(
        SYS_perf_event_open, &attributes, /*pid=*/-1, cpu, /*group=*/-1, PERF_FLAG_FD_CLOEXEC);
    return fd < 0 ? -errno : static_cast<int>(fd);
  }
  std::optional<std::uint64_t> read(int event) noexcept override {
    std::uint64_t count = 0;
    // Nothing to read means that the event is in error: no value, not 0.
    return ::read(event, &count, sizeof count) == sizeof count ? std::optional(count)
                                                               : std::nullopt;
  }
  void close(int event) noexcept override { ::close(event); }
};

}  // namespace

PerfEvents& system_perf_events() {
  static KernelPerfEvents events;
  return events;
}

}  // namespace joulescale
