// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace joulescale {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// 7.2 MJ in half an hour on four GPUs.
RunRecord gpu_run() {
  RunRecord run;
  run.duration = Seconds(1800.0);
  run.devices = {"gpu", 4};
  run.device_hours = 2.0;
  ComponentEnergy gpu;
  gpu.energy = Joules(7.2e6);
  gpu.uncertainty = Joules(1800.0);
  run.energy.components = {{"gpu", gpu}};
  run.energy.total = gpu.energy;
  run.energy.total_uncertainty = gpu.uncertainty;
  run.energy.total_includes = {"gpu"};
  run.power = {Watts(4000.0), Watts(4500.0), Watts(45.0), Seconds(1.0)};
  return run;
}

TEST(Summary, TellsMeanAndPeakPowerAndTheEnergyOfADeviceHour) {
  EXPECT_THAT(format_summary(gpu_run(), "DIR"),
              AllOf(HasSubstr("mean power      4000.000 W +- 1 W  measured\n"),
                    HasSubstr("peak power      4500.000 W +- 45 W  highest mean over 1 s\n"),
                    HasSubstr("GPU hours              2 h  1 kWh a GPU hour, measured\n"),
                    HasSubstr("record: DIR\n")));
}

TEST(Summary, NamesAnEnergyOfADeviceHourThatIsAnEstimate) {
  RunRecord run = gpu_run();
  run.devices = {"cpu_rank", 4};
  run.power = {};
  run.energy = {};
  run.energy.estimated = Joules(3.6e6);
  run.energy.total_with_estimates = Joules(3.6e6);
  EXPECT_THAT(
      format_summary(run, "DIR"),
      AllOf(HasSubstr("CPU-rank hours            2 h  0.5 kWh a CPU-rank hour, ESTIMATED\n"),
            Not(HasSubstr("mean power")),
            Not(HasSubstr("peak power"))));
}

TEST(Summary, SaysWhichRanksLeftNoRecord) {
  RunRecord run = gpu_run();
  run.ranks = {{0, "n", 0, {}, Seconds(1.0)}, {2, "n", 0, {}, Seconds(1.0)}};
  EXPECT_THAT(format_summary(run, "DIR"), Not(HasSubstr("left a record")));
  run.launch.expected_ranks = 4;
  EXPECT_THAT(format_summary(run, "DIR"),
              HasSubstr("2 of 4 ranks left a record; what the others used is not known\n"));
  run.launch.expected_ranks = 2;
  EXPECT_THAT(format_summary(run, "DIR"), Not(HasSubstr("left a record")));
}

}  // namespace
}  // namespace joulescale
