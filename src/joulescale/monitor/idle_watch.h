// SPDX-License-Identifier: Apache-2.0
// The time before the command is started in which the sampler measures the idle node.
#pragma once

#include <filesystem>
#include <optional>

#include "joulescale/base/clock.h"
#include "joulescale/monitor/recorder.h"
#include "joulescale/monitor/sampler.h"
#include "joulescale/monitor/session.h"

namespace joulescale {

struct IdlePlan {
  Nanoseconds length{0};
  std::filesystem::path root;  // stands for / of /proc/stat
  bool show = false;           // tells how far it is, on a standard error that is a terminal
};

struct IdleWatch {
  Nanoseconds began{0};                  // CLOCK_MONOTONIC
  std::optional<double> cpu_busy_share;  // of the node's hardware threads, 0 to 1
  std::optional<int> cancelled_by;       // a signal that asks to end
};

/// Waits until the sources are ready or have had their time (5 s), then for the length; a signal
/// that asks to end ends either.
IdleWatch watch_idle(const IdlePlan& plan,
                     Sampler& sampler,
                     Recorder& recorder,
                     CommandSession& session,
                     Clock& clock);

}  // namespace joulescale
