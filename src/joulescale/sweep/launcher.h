// SPDX-License-Identifier: Apache-2.0
// How the sweep starts one run: the seam for local processes, mpirun and batch systems
// (docs/adding-a-launcher.md).
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "joulescale/base/error.h"

namespace joulescale {

struct LaunchRequest {
  std::vector<std::string> argv;  // the monitored run, from the outermost program on
  std::filesystem::path working_directory;
  std::filesystem::path log_file;  // stdout and stderr of the run are appended
};

/// One run at a time. Not thread safe.
class Launcher {
 public:
  virtual ~Launcher() = default;

  /// Starts the run and returns at once.
  virtual Result<void> start(const LaunchRequest& request) = 0;
  /// The status of the run, as a shell gives it, once it has ended and none of its processes is
  /// left; nothing while it runs.
  virtual std::optional<int> poll() = 0;
  /// Asks the run to end; poll() tells when it has.
  virtual void stop() = 0;
  /// Ends it now.
  virtual void kill() = 0;
};

/// `kind`: as checked by the study file.
std::unique_ptr<Launcher> make_launcher(const std::string& kind);

}  // namespace joulescale
