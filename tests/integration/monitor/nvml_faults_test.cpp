// SPDX-License-Identifier: Apache-2.0
// What befalls GPUs while a run goes on: the energy stays right or says how wrong it may be, and
// the run is flagged with exactly what happened.
#include <chrono>
#include <cmath>
#include <list>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/monitor/scenario_run.h"

namespace joulescale::testing {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

struct FaultCase {
  std::string name;
  ScenarioOptions options;
  std::vector<std::string> flags;
  std::optional<Provenance> provenance = Provenance::kMeasured;
  double counter_share = 1.0;        // of the energy, where the counter is wrong and yet stands
  double widest_uncertainty = 0.25;  // as a share of the energy
};

std::string gpu_with(const std::string& lines) {
  return "gpu GPU-1 NVIDIA Fake\nstart_mj 987654321\nlimit_w 700\nupdate_ms 20 7\nsine 300 100 "
         "0.9\n" +
         lines;
}

/// Faults happen between 2 and 3 s; the command runs from before 1 s (opening takes 0.25 s at most
/// on a quiet machine) to at least 4 s.
std::vector<FaultCase> fault_cases() {
  constexpr double kLong = 4.0;
  const std::string mig = "mig MIG-11\nmig MIG-12\n";
  return {
      {"no fault", {gpu_with(""), kLong}, {}},
      {"the counter is not supported for a moment",
       {gpu_with("during 2:2.5 energy_code 3\n"), kLong},
       {}},
      {"everything fails for a moment",
       {gpu_with("during 2:2.5 energy_code 999\nduring 2:2.5 power_code 999\n"), kLong},
       {}},
      {"values that mean none",
       {gpu_with("during 2:2.3 energy_raw 4294967295\nduring 2.4:2.7 energy_raw "
                 "18446744073709551615\nduring 2:2.8 power_raw 4294967295\n"),
        kLong},
       {}},
      {"one reading of terawatts",
       {gpu_with("during 2:2.09 energy_raw 999999999999999\n"), kLong},
       {}},
      {"zeros when asked too soon", {gpu_with("hurried_ms 30\n"), kLong}, {}},
      {"a lost GPU",
       {gpu_with("during 3:* lost\n"), kLong},
       {"device_lost"},
       Provenance::kMeasured,
       1.0,
       1.0},
      {"a driver that is loaded anew", {gpu_with("reset_at 2.5\n"), kLong}, {"counter_reset"}},
      {"a step back", {gpu_with("jump_at 2.5 -90000\n"), kLong}, {"counter_reset"}},
      {"a step of terawatts that stays",
       {gpu_with("jump_at 2.5 999999999999\n"), kLong},
       {"counter_reset"}},
      {"a counter that sticks",
       {gpu_with("during 1:* stuck\n"), kLong + 1.0},
       {"counter_power_disagree"},
       Provenance::kIntegrated},
      {"a counter that always stuck",
       {gpu_with("during 0:* stuck\n"), kLong},
       {"counter_power_disagree"},
       Provenance::kIntegrated},
      {"a counter of 0",
       {gpu_with("during 0:* energy_raw 0\n"), kLong},
       {"counter_power_disagree"},
       Provenance::kIntegrated},
      {"a counter that shows 57 %",
       {gpu_with("counter_scale 0.57\n"), kLong},
       {"counter_power_disagree"},
       Provenance::kMeasured,
       0.57,
       0.8},  // the power may be right
      {"a counter in a wrong unit",
       {gpu_with("counter_scale 0.001\n"), kLong},
       {"counter_power_disagree"},
       Provenance::kIntegrated},
      {"a counter of twelve times the energy",
       {"gpu GPU-1 NVIDIA Fake\npower 0:60\nupdate_ms 20\ncounter_scale 12\n", kLong},
       {"counter_power_disagree"},
       Provenance::kIntegrated},
      {"no counter", {gpu_with("energy_codes 3x*\n"), kLong}, {}, Provenance::kIntegrated},
      {"no counter and a power of 0",
       {gpu_with("energy_codes 3x*\nduring 0:* power_raw 0\n"), 1.0},
       {"no_sensor"},
       std::nullopt},
      {"no power", {gpu_with("power_codes 3x*\n"), kLong}, {}},
      {"neither",
       {gpu_with("energy_codes 3x*\npower_codes 3x*\n"), 1.0},
       {"no_sensor"},
       std::nullopt},
      {"no counter and no power for a while",
       {gpu_with("energy_codes 3x*\nduring 1.5:4 power_code 999\n"), kLong + 1.0},
       {"gap"},
       Provenance::kIntegrated,
       1.0,
       1.4},  // 2.5 s of up to 875 W
      {"a slow GPU", {gpu_with("slow_ms 150\n"), kLong}, {}, Provenance::kMeasured, 1.0, 1.0},
      {"instances", {gpu_with(mig), 1.0, {}, "MIG-11,MIG-12"}, {"mig_parent"}},
      {"GPUs that the command may not use",
       {gpu_with(""), 1.0, {"--devices", "all"}, ""},
       {"devices_not_visible"}},
  };
}

void expect_case(const FaultCase& fault, ScenarioRun& run) {
  SCOPED_TRACE(fault.name);
  ASSERT_NO_FATAL_FAILURE(run.finish());
  const RunRecord& record = run.record();
  EXPECT_THAT(run.flags_but_lateness(), ElementsAreArray(fault.flags));
  if (!fault.provenance) {
    EXPECT_FALSE(record.energy.total.has_value());
    return;
  }
  ASSERT_TRUE(record.energy.components.contains("gpu"));
  const ComponentEnergy& gpu = record.energy.components.at("gpu");
  EXPECT_EQ(gpu.provenance, *fault.provenance);
  const double truth_j = run.truth() * fault.counter_share;
  const double uncertainty_j = gpu.uncertainty->value();
  EXPECT_NEAR(gpu.energy.value(), truth_j, std::max(1e-3 * truth_j, uncertainty_j));
  EXPECT_LT(uncertainty_j, fault.widest_uncertainty * truth_j);
}

TEST(MonitorFaults, EachIsFlaggedAndNoneSpoilsTheEnergy) {
  const std::vector<FaultCase> cases = fault_cases();
  constexpr std::size_t kAtOnce = 8;  // they sleep
  for (std::size_t first = 0; first < cases.size(); first += kAtOnce) {
    std::list<ScenarioRun> runs;
    const std::size_t last = std::min(first + kAtOnce, cases.size());
    for (std::size_t i = first; i < last; ++i) {
      runs.emplace_back(cases[i].options);
    }
    std::size_t i = first;
    for (ScenarioRun& run : runs) {
      expect_case(cases[i++], run);
    }
  }
}

TEST(MonitorFaults, BothFiguresOfADisagreementAreKeptAndTheirRatioPrinted) {
  // An idle GPU whose counter shows 187 J where its power makes 327 J in 5 s.
  ScenarioRun run(
      {"gpu GPU-1 NVIDIA Fake\npower 0:65.4\nupdate_ms 20\ncounter_scale 0.572\n", 5.0});
  ASSERT_NO_FATAL_FAILURE(run.finish());
  const ComponentEnergy& gpu = run.record().energy.components.at("gpu");
  EXPECT_NEAR(gpu.energy.value(), 187.0 * run.seconds() / 5.0, gpu.uncertainty->value());
  ASSERT_TRUE(gpu.integrated.has_value());
  EXPECT_NEAR(gpu.integrated->value(), run.truth(), 0.02 * run.truth());
  EXPECT_THAT(run.flags_but_lateness(), ::testing::ElementsAre("counter_power_disagree"));
  EXPECT_THAT(run.err(), HasSubstr("J from power samples (ratio 0.5"));
}

TEST(MonitorFaults, ARunShorterThanATickSaysHowLittleItKnows) {
  ScenarioRun run({"gpu GPU-1 NVIDIA Fake\nstart_mj 5\nupdate_ms 200\npower 0:300\n", 0.002});
  ASSERT_NO_FATAL_FAILURE(run.finish());
  ASSERT_TRUE(run.record().energy.components.contains("gpu"));
  const ComponentEnergy& gpu = run.record().energy.components.at("gpu");
  EXPECT_GT(gpu.energy.value(), 0.0);
  EXPECT_NEAR(gpu.energy.value(), run.truth(), gpu.uncertainty->value());
  EXPECT_GT(gpu.uncertainty->value(), gpu.energy.value());
}

TEST(MonitorFaults, SixteenGpusWithAFaultEachAreMeasuredEach) {
  std::string gpus;
  for (int i = 0; i < 16; ++i) {
    gpus += fmt::format("gpu GPU-{:02} NVIDIA Fake\nstart_mj {}\nupdate_ms {} {}\n",
                        i,
                        1000 * i + 1,
                        5 * (i + 1),
                        i);
    const char* shapes[] = {"power 0:{}\n",
                            "power 0:{} 3:600\n",
                            "power 0:{} 1:100 1:400\n",
                            "sine 300 {} 0.7\n",
                            "square 80 {} 0.31 0.4\n"};
    gpus += fmt::format(fmt::runtime(shapes[i % 5]), 150 + 10 * i);
  }
  ScenarioRun run({gpus, 3.0});
  ASSERT_NO_FATAL_FAILURE(run.finish());
  EXPECT_EQ(run.record().devices.count, 16);
  for (std::size_t i = 0; i < 16; ++i) {
    const SourceRecord* counter = run.source(fmt::format("nvml/GPU-{:02}/energy", i));
    ASSERT_NE(counter, nullptr);
    // Two update periods or two readings at both edges.
    EXPECT_NEAR(counter->energy->value(), run.truth(i), 0.1 * run.truth(i)) << i;
  }
  const ComponentEnergy& gpu = run.record().energy.components.at("gpu");
  EXPECT_NEAR(
      gpu.energy.value(), run.truth(), std::max(gpu.uncertainty->value(), 1e-3 * run.truth()));
  EXPECT_LT(gpu.uncertainty->value(), 0.05 * run.truth());
}

}  // namespace
}  // namespace joulescale::testing
