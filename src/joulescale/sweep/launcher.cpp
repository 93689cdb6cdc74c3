// SPDX-License-Identifier: Apache-2.0
#include "joulescale/sweep/launcher.h"

#include "joulescale/sweep/local/local_launcher.h"

namespace joulescale {

std::unique_ptr<Launcher> make_launcher(const std::string& kind) {
  JOULESCALE_CHECK(kind == "local");
  return std::make_unique<LocalLauncher>();
}

}  // namespace joulescale
