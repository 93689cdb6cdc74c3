// SPDX-License-Identifier: Apache-2.0
// A copy of the fake NVML with its scenario beside it.
#pragma once

#include <dlfcn.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temp_dir.h"

namespace joulescale::testing {

/// Scenario lines of a GPU that gives every metric.
inline constexpr const char* kEveryMetric = R"(metric gpu_utilization 87
metric memory_utilization 40
metric memory_used 60000000000
metric sm_clock 1980
metric temperature 71
metric throttle_reasons 36
metric power_limit_mw 700000
)";

class FakeNvmlDir {
 public:
  /// `built`: the folder of the library to copy (JOULESCALE_FAKE_NVML_DIR).
  FakeNvmlDir(const std::filesystem::path& built, const std::string& scenario) {
    std::filesystem::copy_file(built / "libnvidia-ml.so.1", library());
    std::ofstream(library().native() + ".scenario") << scenario;
  }
  std::filesystem::path library() const { return directory_.path() / "libnvidia-ml.so.1"; }

 private:
  TempDir directory_;
};

/// A control function of the loaded fake; loads it if need be, so that it stays loaded.
template <typename Function>
Function* fake_nvml_control(const std::filesystem::path& library, const char* name) {
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<Function*>(::dlsym(handle, name));
}

}  // namespace joulescale::testing
