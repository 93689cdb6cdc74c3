// SPDX-License-Identifier: Apache-2.0
// A node with a CPU package and four GPUs, all of steady power.
#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "joulescale/base/clock.h"
#include "joulescale/record/run_record.h"

#include "tests/integration/monitor/live_counters.h"
#include "tests/support/fake_nvml_dir.h"

namespace joulescale::testing {

class FakeNode {
 public:
  /// GPU-0 takes 100 W, GPU-1 200 W and so on.
  static double gpu_watts(int gpu) { return 100.0 * (gpu + 1); }

  /// What tells the monitor to measure this node.
  std::vector<std::string> monitor_options() const {
    return {"--root", package_.tree.root().native(), "--nvml-library", gpus_.library().native()};
  }
  const SteadyPackage& package() const { return package_; }

  /// Of a run in which rank N saw GPU-N alone. A GPU is read while its rank runs, and by another
  /// rank from a second after that on; the node's time goes from the first rank's begin to the last
  /// one's end. Returns what was allowed, as a share of the energy.
  static double expect_gpus_of_ranks(const RunRecord& run) {
    double own_time_j = 0.0;
    double whole_time_j = 0.0;
    for (const RankRecord& rank : run.ranks) {
      own_time_j += gpu_watts(rank.rank) * rank.duration->value();
      whole_time_j += gpu_watts(rank.rank) * run.duration.value();
    }
    const ComponentEnergy& gpu = run.energy.components.at("gpu");
    const double error_j = gpu.uncertainty->value() + 1e-3 * own_time_j;
    EXPECT_GE(gpu.energy.value(), own_time_j - error_j);
    EXPECT_LE(gpu.energy.value(), whole_time_j + error_j);
    return error_j / own_time_j;
  }

 private:
  static std::string scenario() {
    std::string text = fmt::format("epoch_ns {}\n", system_clock().monotonic_now().count());
    for (int gpu = 0; gpu < 4; ++gpu) {
      text += fmt::format("gpu GPU-{} NVIDIA Fake\nstart_mj 1000000\nupdate_ms 20\npower 0:{}\n",
                          gpu,
                          gpu_watts(gpu));
    }
    return text;
  }

  SteadyPackage package_;
  FakeNvmlDir gpus_{JOULESCALE_FAKE_NVML_DIR, scenario()};
};

}  // namespace joulescale::testing
