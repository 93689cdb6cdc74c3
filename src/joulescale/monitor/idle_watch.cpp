// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/idle_watch.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "joulescale/base/file.h"
#include "joulescale/monitor/say.h"
#include "joulescale/sensors/estimate/proc_files.h"

namespace joulescale {
namespace {

constexpr Nanoseconds kShowEvery = std::chrono::seconds(1);
constexpr Nanoseconds kSourcePatience = std::chrono::seconds(5);
constexpr Nanoseconds kReadPatience = std::chrono::milliseconds(100);

std::optional<CpuTimes> read_cpu_times(const std::filesystem::path& root) {
  const auto text = read_file(root / "proc/stat");
  return text ? parse_proc_stat(*text) : std::nullopt;
}

std::optional<double> busy_share(const std::optional<CpuTimes>& before,
                                 const std::optional<CpuTimes>& after,
                                 Seconds duration) {
  if (!before || !after || after->num_threads == 0 || duration <= Seconds(0.0)) {
    return std::nullopt;
  }
  // A CPU taken offline lowers the kernel's sum.
  const double busy_s =
      tick_seconds(std::max(after->busy_ticks, before->busy_ticks) - before->busy_ticks);
  return std::min(1.0, busy_s / (duration.value() * after->num_threads));
}

/// One line that is written over again and leaves nothing behind.
void show_progress(Nanoseconds passed, Nanoseconds length) {
  tell(fmt::format("\r\033[Kjoulescale monitor: idle baseline, {:.0f} s of {:.0f} s",
                   to_seconds(passed).value(),
                   to_seconds(length).value()));
}

/// The signal that asked to end meanwhile.
std::optional<int> wait_for_sources(Sampler& sampler, CommandSession& session, Clock& clock) {
  const Nanoseconds deadline = clock.monotonic_now() + kSourcePatience;
  while (!sampler.wait_ready(clock.monotonic_now() + kReadPatience) &&
         clock.monotonic_now() < deadline) {
    if (const auto signal = session.cancelled()) {
      return signal;
    }
  }
  return std::nullopt;
}

}  // namespace

IdleWatch watch_idle(const IdlePlan& plan,
                     Sampler& sampler,
                     Recorder& recorder,
                     CommandSession& session,
                     Clock& clock) {
  IdleWatch watch;
  watch.cancelled_by = wait_for_sources(sampler, session, clock);
  const bool on_terminal = plan.show && ::isatty(STDERR_FILENO) == 1;
  sampler.read_now(clock.monotonic_now() + kReadPatience);
  const auto times_before = read_cpu_times(plan.root);
  watch.began = clock.monotonic_now();
  recorder.baseline_began(watch.began);
  const Nanoseconds end = watch.began + plan.length;
  Nanoseconds now = watch.began;
  while (now < end && !watch.cancelled_by) {
    if (on_terminal) {
      show_progress(now - watch.began, plan.length);
    }
    watch.cancelled_by = session.cancelled(on_terminal ? std::min(end, now + kShowEvery) : end);
    now = clock.monotonic_now();
  }
  if (on_terminal) {
    tell("\r\033[K");
  }
  watch.cpu_busy_share =
      busy_share(times_before, read_cpu_times(plan.root), to_seconds(now - watch.began));
  return watch;
}

}  // namespace joulescale
