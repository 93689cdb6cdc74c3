// SPDX-License-Identifier: Apache-2.0
// Runs on this machine. Between the sweep and the run stands a guard, a process of its own: it ends
// every process of the run when the sweep asks for it, or dies in whatever way.
#pragma once

#include <sys/types.h>

#include "joulescale/sweep/launcher.h"

namespace joulescale {

class LocalLauncher final : public Launcher {
 public:
  LocalLauncher();
  Result<void> start(const LaunchRequest& request) override;
  std::optional<int> poll() override;
  /// SIGTERM to the run's process group; after 10 s SIGKILL to what is left.
  void stop() override;
  void kill() override;

 private:
  pid_t guard_ = 0;
};

}  // namespace joulescale
