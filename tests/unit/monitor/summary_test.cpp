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

TEST(Summary, CoresAreThoseOfTheRunsTime) {
  RunRecord run = gpu_run();  // 1800 s
  for (const char* name : {"load/rank-0/cpu_time", "load/rank-1/cpu_time"}) {
    MetricRecord& metric = run.metrics.emplace_back();
    metric.name = name;
    metric.difference = 900.0;
    metric.mean_rate = 0.9;  // over a part of it
  }
  EXPECT_THAT(format_summary(run, "DIR"), HasSubstr("1800.00 s of the command (1.00 cores)"));
}

TEST(Summary, SaysWhichRanksLeftNoRecord) {
  RunRecord run = gpu_run();
  run.ranks = {{0, "n", 0, {}, Seconds(1.0), {}}, {2, "n", 0, {}, Seconds(1.0), {}}};
  EXPECT_THAT(format_summary(run, "DIR"), Not(HasSubstr("left a record")));
  run.launch.expected_ranks = 4;
  EXPECT_THAT(
      format_summary(run, "DIR"),
      HasSubstr("2 of 4 ranks left a record (not: 1, 3); what the others used is not known\n"));
  run.launch.expected_ranks = 2;
  EXPECT_THAT(format_summary(run, "DIR"), Not(HasSubstr("left a record")));
}

TEST(Summary, SaysHowTheCommandEnded) {
  RunRecord run = gpu_run();
  run.exit_status = 0;
  EXPECT_THAT(format_summary(run, "DIR"), HasSubstr(" on 4 GPUs\n"));
  run.exit_status = 3;
  EXPECT_THAT(format_summary(run, "DIR"), HasSubstr(" on 4 GPUs; exit status 3\n"));
  run.ranks = {{0, "n", 0, {}, Seconds(1.0), {}}, {1, "n", {}, 15, Seconds(1.0), "T1"}};
  run.exit_status.reset();
  run.signal = 15;
  EXPECT_THAT(format_summary(run, "DIR"), HasSubstr("; rank 1: ended by signal 15 (SIGTERM)\n"));
  run.ranks.push_back({2, "n", 3, {}, Seconds(1.0), "T0"});
  run.signal.reset();
  run.exit_status = 3;
  EXPECT_THAT(format_summary(run, "DIR"),
              HasSubstr("; 2 of 3 ranks failed, first rank 2: exit status 3\n"));
  run.exit_status.reset();
  EXPECT_THAT(format_summary(run, "DIR"), HasSubstr("; how it ended is not known\n"));
  run.ranks[1].signal.reset();
  EXPECT_THAT(format_summary(run, "DIR"), HasSubstr("; how rank 1 ended is not known\n"));
  run.launch.expected_ranks = 4;
  EXPECT_THAT(format_summary(run, "DIR"),
              HasSubstr("; how ranks without a record ended is not known\n"));
}

TEST(Summary, SaysWhatTheTotalLacksAndWhatFlagsMean) {
  RunRecord run = gpu_run();
  run.source_notes = {{"powercap", "n", "zone 1: permission denied; chmod it", true},
                      {"perf", "n", "only to know", false},
                      {"nvml", "n", "CUDA_VISIBLE_DEVICES hides every GPU", false},
                      {"command", "n", "the command of rank 0 still ran", false}};
  run.flags = {"no_sensor", "gap", "late_start"};
  run.sources = {{}, {}};
  run.sources[0].late_start = Seconds(0.25);
  run.sources[1].late_start = Seconds(0.5);
  const std::string text = format_summary(run, "DIR");
  EXPECT_THAT(text, HasSubstr("  not measured: powercap: zone 1: permission denied; chmod it\n"));
  EXPECT_THAT(text, Not(HasSubstr("only to know")));
  EXPECT_THAT(text, Not(HasSubstr("says why")));
  EXPECT_THAT(text, HasSubstr("  flag        gap: a source was not read, gave no value or stood"));
  EXPECT_THAT(text, HasSubstr("had started, the last one by 0.5 s\n"));
  EXPECT_THAT(text, HasSubstr("CUDA_VISIBLE_DEVICES hides every GPU\n"));
  EXPECT_THAT(text, HasSubstr("the command of rank 0 still ran\n"));
  EXPECT_THAT(format_summary(run, ""), Not(HasSubstr("record:")));
  run.energy.total.reset();
  EXPECT_THAT(format_summary(run, "DIR"), HasSubstr("no counter that counts in a total was read"));
  run.energy.components.clear();
  EXPECT_THAT(format_summary(run, "DIR"), HasSubstr("no counter and no power value was read"));
}

}  // namespace
}  // namespace joulescale
