// SPDX-License-Identifier: Apache-2.0
#include "joulescale/sensors/perf/perf_sensor.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "joulescale/base/file.h"
#include "joulescale/base/text.h"
#include "joulescale/sensors/rapl.h"

namespace joulescale {
namespace {

/// The kernel gives 2^-32 J, and the hardware counts in steps of 2^-16 J (15 uJ) or more: the bits
/// below cost the journal two bytes a value and say nothing.
constexpr int kUnusedBits = 16;

/// powercap's name for what the event counts on the CPU's package or die.
std::string silicon_of(const PowerEvent& event, const PowerCpu& cpu) {
  switch (event.domain) {
    case Domain::kDram:
      return cpu.silicon + "/dram";
    case Domain::kCpuCore:
      return cpu.silicon + "/core";
    case Domain::kCpuUncore:
      return cpu.silicon + "/uncore";
    case Domain::kPlatform:
      return cpu.package == 0 ? "psys" : fmt::format("psys-{}", cpu.package);
    default:
      return cpu.silicon;
  }
}

}  // namespace

PerfSensor::PerfSensor(std::filesystem::path root, PerfEvents* events, Clock& clock)
    : root_(std::move(root)), events_(events), clock_(clock) {}

Result<void> PerfSensor::open() {
  close();
  if (events_ == nullptr) {
    return Error(ErrorCode::kUnavailable,
                 fmt::format("perf energy events are a system call, so that they show this machine "
                             "only, not '{}'; leave out --root",
                             root_.native()));
  }
  JOULESCALE_TRY_ASSIGN(const PowerPmu pmu, find_power_pmu(root_));
  notes_ = pmu.notes;
  // Whether it is permitted is asked before the claim: a process that may not count must not keep
  // one that may from it.
  const int probe = events_->open(pmu.type, pmu.events.front().config, pmu.cpus.front().cpu);
  if (probe < 0) {
    return refused(-probe);
  }
  events_->close(probe);
  if (!may_read("perf")) {
    return {};
  }
  auto opened = open_events(pmu);
  if (!opened) {
    close();
  }
  return opened;
}

std::optional<TickWatch> PerfSensor::tick_watch() const { return kRaplTickWatch; }

/// All CPUs of the mask or none: a package that is left out would look like an idle one.
Result<void> PerfSensor::open_events(const PowerPmu& pmu) {
  for (const PowerEvent& event : pmu.events) {
    for (const PowerCpu& cpu : pmu.cpus) {
      if (event.domain == Domain::kPlatform && !cpu.first_of_package) {
        continue;  // the platform's counter is one a package
      }
      const int opened = events_->open(pmu.type, event.config, cpu.cpu);
      if (opened >= 0) {
        opened_.push_back(opened);
        add_channel(event, cpu);
      } else if (is_counted(event.domain)) {
        return refused(-opened).with_context(fmt::format("{} on CPU {}", event.name, cpu.cpu));
      } else {
        notes_.push_back(
            fmt::format("{} on CPU {} left out: {}", event.name, cpu.cpu, std::strerror(-opened)));
      }
    }
  }
  if (std::ranges::none_of(channels_,
                           [](const Channel& channel) { return is_counted(channel.domain); })) {
    notes_.emplace_back("it has no counter of packages or memory: nothing of it counts in a total");
  }
  return {};
}

void PerfSensor::add_channel(const PowerEvent& event, const PowerCpu& cpu) {
  Channel& channel = channels_.emplace_back();
  const std::string silicon = silicon_of(event, cpu);
  channel.name = "perf/" + silicon;
  channel.domain = event.domain;
  channel.unit = RawUnit::kJouleOver2To16;
  channel.overlap_group = is_inside_package(event.domain) ? cpu.silicon : silicon;
  channel.plausible_power = rapl_plausible_power(event.domain);
  channel.instrument_accuracy = kRaplAccuracy;
}

Error PerfSensor::refused(int error) const {
  if (error != EACCES && error != EPERM) {
    return Error(ErrorCode::kUnavailable,
                 fmt::format("perf_event_open failed: {}; measure with powercap instead",
                             std::strerror(error)));
  }
  const std::string paranoid =
      read_small_file(root_ / "proc/sys/kernel/perf_event_paranoid").value_or("unknown");
  const auto level = parse_int64(paranoid);
  if (level && *level <= 0) {  // the kernel would permit it
    return Error(
        ErrorCode::kPermission,
        fmt::format("perf_event_open is not permitted, though perf_event_paranoid is {}: a "
                    "seccomp filter or security module stands before it; start the "
                    "container with '--cap-add PERFMON', or with a seccomp profile that "
                    "allows perf_event_open",
                    paranoid));
  }
  return Error(ErrorCode::kPermission,
               fmt::format("perf_event_open is not permitted, perf_event_paranoid is {}; as root "
                           "run 'sysctl kernel.perf_event_paranoid=0', or '{}'",
                           paranoid,
                           setcap_command("cap_perfmon")));
}

void PerfSensor::read(std::span<RawReading> out) noexcept {
  for (std::size_t i = 0; i < opened_.size() && i < out.size(); ++i) {
    out[i] = timed_reading(clock_, [&](Nanoseconds) -> std::optional<std::uint64_t> {
      const auto count = events_->read(opened_[i]);
      return count ? std::optional(*count >> kUnusedBits) : std::nullopt;
    });
  }
}

void PerfSensor::close() noexcept {
  forget_claims();
  for (const int event : opened_) {
    events_->close(event);
  }
  opened_.clear();
  channels_.clear();
  notes_.clear();
}

}  // namespace joulescale
