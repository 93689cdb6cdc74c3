// SPDX-License-Identifier: Apache-2.0
// joulescale monitor against live fakes with known energy: a powercap tree that a thread keeps
// moving, and a fake NVML library. The run's own times come from its journal.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "joulescale/base/clock.h"

#include "tests/fakes/nvml/scenario.h"
#include "tests/integration/monitor/live_counters.h"
#include "tests/integration/monitor/monitor_harness.h"
#include "tests/integration/monitor/run_times.h"
#include "tests/support/fake_nvml_dir.h"

namespace joulescale::testing {
namespace {

using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class MonitorEnergy : public MonitorTest {};

TEST_F(MonitorEnergy, PowercapRampWithTwoWraps) {
  constexpr std::uint64_t kRangeUj = 300'000'000;
  PowercapTree tree;
  tree.add_zone("intel-rapl:0", "package-0", 0, kRangeUj);
  tree.add_zone("intel-rapl:0:0", "core", 0, kRangeUj);
  tree.add_zone("intel-rapl:0:1", "dram", 0);
  // A round of the counter takes 0.3 s at the highest plausible power: no gap of a busy test
  // machine makes the number of wraps doubtful.
  for (const char* zone : {"intel-rapl:0", "intel-rapl:0:0"}) {
    tree.set_text(zone, "constraint_0_max_power_uw", "300000000\n");
  }
  const auto package_j = [](double t) { return 100.0 * t + 100.0 * t * t / 2.0; };
  LiveCounters live(
      tree,
      {{"intel-rapl:0",
        [&](double t) { return static_cast<std::uint64_t>(package_j(t) * 1e6) % kRangeUj; }},
       {"intel-rapl:0:0",
        [&](double t) { return static_cast<std::uint64_t>(package_j(t) * 0.5e6) % kRangeUj; }},
       {"intel-rapl:0:1", [](double t) { return static_cast<std::uint64_t>(20e6 * t); }}},
      std::chrono::milliseconds(2));
  Program program(monitor({"--root", tree.root().native(), "--rate", "20"}, {"sleep", "2.5"}));
  ASSERT_EQ(program.wait_status(), 0);
  const RunTimes times(run_directory());
  const double begin = live.seconds_at(times.begin);
  const double end = live.seconds_at(times.end);
  const RunRecord run = record();
  EXPECT_NEAR(run.duration.value(), end - begin, 1e-6);
  const double late_j = live.seconds_late() * (100.0 + 100.0 * end);  // at the last power
  expect_energy(run.energy.components.at("cpu"), package_j(end) - package_j(begin), late_j);
  expect_energy(run.energy.components.at("dram"), 20.0 * (end - begin), late_j);
  expect_energy(
      run.energy.components.at("cpu_core"), 0.5 * (package_j(end) - package_j(begin)), late_j);
  EXPECT_THAT(run.energy.total_includes, ElementsAre("cpu", "dram"));
  EXPECT_DOUBLE_EQ(run.energy.total->value(),
                   run.energy.components.at("cpu").energy.value() +
                       run.energy.components.at("dram").energy.value());
  EXPECT_FALSE(run.energy.estimated.has_value());
  EXPECT_THAT(run.energy.components.at("cpu_core").overlaps, ElementsAre("cpu"));
  EXPECT_EQ(run.energy.components.at("cpu").provenance, Provenance::kMeasured);
  for (const SourceRecord& source : run.sources) {
    if (source.name == "powercap/package-0") {
      // One more where a wrap lies between the base reading and the begin, or the end and the last
      // tick.
      const double wraps =
          std::floor(package_j(end) / 300.0) - std::floor(package_j(begin) / 300.0);
      EXPECT_NEAR(static_cast<double>(source.wraps), wraps, 1.0);
      EXPECT_GE(source.wraps, 1U);
    }
  }
  if (late_j == 0.0) {  // a fake that stood still and then jumped looks like a counter's new start
    EXPECT_THAT(run.flags, Not(Contains("counter_reset")));
  }
}

TEST_F(MonitorEnergy, AnEstimateStandsByWhereACounterMeasures) {
  for (const bool counter : {true, false}) {
    std::filesystem::remove_all(run_directory());
    PowercapTree tree;
    tree.set_proc_stat(2, 10);
    if (counter) {
      tree.add_zone("intel-rapl:0", "package-0", 5);
    }
    Program program(monitor({"--root", tree.root().native(), "--rate", "20"}, {"sleep", "3"}));
    ASSERT_EQ(program.wait_status(), 0) << program.err();
    const RunRecord run = record();
    const auto found = std::ranges::find(run.sources, "estimate/cpu", &SourceRecord::name);
    ASSERT_NE(found, run.sources.end());
    if (counter) {
      EXPECT_LE(found->samples, 14U) << "once a second, and the last ticks";
    } else {
      EXPECT_GE(found->samples, 20U);
    }
  }
}

TEST_F(MonitorEnergy, VanishingZoneIsMissedNotZero) {
  PowercapTree tree;
  tree.add_zone("intel-rapl:0", "package-0", 0);
  LiveCounters live(
      tree,
      {{"intel-rapl:0", [](double t) { return static_cast<std::uint64_t>(100e6 * t); }}},
      std::chrono::milliseconds(2));
  Program program(monitor({"--root", tree.root().native()},
                          {"sh",
                           "-c",
                           "mv " + tree.zone("intel-rapl:0").native() + "/name " +
                               tree.root().native() + "/name; sleep 1; exit 2"}));
  ASSERT_EQ(program.wait_status(), 2);
  const RunTimes times(run_directory());
  expect_energy(record().energy.components.at("cpu"),
                100.0 * to_seconds(times.end - times.begin).value());
}

/// 100 W rising to 500 W within 8 s, then constant; two GPUs, of which the second takes 50 W.
std::string ramp_scenario(Nanoseconds epoch, double update_ms) {
  return fmt::format(
      "epoch_ns {}\n"
      "gpu GPU-aaaa NVIDIA Fake\nstart_mj 123456\nupdate_ms {}\nlimit_w 700\npower 0:100 8:500\n"
      "gpu GPU-bbbb NVIDIA Fake\nupdate_ms {}\npower 0:50\n",
      epoch.count(),
      update_ms,
      update_ms);
}

double expected_energy(const std::string& scenario_file, const RunTimes& times) {
  const fake_nvml::Scenario scenario = fake_nvml::read_scenario(scenario_file);
  const auto seconds = [&](Nanoseconds time) {
    return to_seconds(time - Nanoseconds(*scenario.epoch_ns)).value();
  };
  return scenario.devices[0].power.energy_at(seconds(times.end)) -
         scenario.devices[0].power.energy_at(seconds(times.begin));
}

class MonitorNvml : public MonitorTest, public ::testing::WithParamInterface<double> {};

TEST_P(MonitorNvml, CounterFollowsAKnownPowerCurve) {
  const FakeNvmlDir fake(JOULESCALE_FAKE_NVML_DIR,
                         ramp_scenario(system_clock().monotonic_now(), GetParam()));
  Program program(monitor({"--nvml-library", fake.library().native()}, {"sleep", "3"}),
                  {.environment = {{"CUDA_VISIBLE_DEVICES", "GPU-aaaa"}}});
  ASSERT_EQ(program.wait_status(), 0);
  const RunTimes times(run_directory());
  const double expected = expected_energy(fake.library().native() + ".scenario", times);
  const RunRecord run = record();
  const ComponentEnergy& gpu = run.energy.components.at("gpu");
  expect_energy(gpu, expected);
  EXPECT_EQ(gpu.provenance, Provenance::kMeasured);
  ASSERT_TRUE(gpu.integrated.has_value());
  EXPECT_NEAR(gpu.integrated->value(), expected, 0.05 * expected);
  EXPECT_EQ(run.devices.kind, "gpu");
  EXPECT_EQ(run.devices.count, 1);
  EXPECT_EQ(run.hardware.gpus_per_node, 2);
  EXPECT_THAT(run.energy.total_includes, Contains("gpu"));
  EXPECT_THAT(run.flags, Not(Contains("counter_power_disagree")));
  EXPECT_THAT(run.flags, Not(Contains("no_sensor")));
}

INSTANTIATE_TEST_SUITE_P(UpdatePeriods,
                         MonitorNvml,
                         ::testing::Values(20.0, 100.0),
                         [](const auto& test) {
                           return fmt::format("Ms{}", static_cast<int>(test.param));
                         });

TEST_F(MonitorEnergy, WithoutEnergyCounterPowerIsIntegrated) {
  const FakeNvmlDir fake(JOULESCALE_FAKE_NVML_NO_ENERGY_DIR,
                         ramp_scenario(system_clock().monotonic_now(), 20.0));
  Program program({joulescale(),
                   "monitor",
                   "--output",
                   run_directory().native(),
                   "--nvml-library",
                   fake.library().native(),
                   "--rate",
                   "20",
                   "--",
                   "sleep",
                   "3"},
                  {.environment = {{"CUDA_VISIBLE_DEVICES", "0"}}});
  ASSERT_EQ(program.wait_status(), 0);
  const RunTimes times(run_directory());
  const RunRecord run = record();
  const ComponentEnergy& gpu = run.energy.components.at("gpu");
  expect_energy(gpu, expected_energy(fake.library().native() + ".scenario", times));
  EXPECT_EQ(gpu.provenance, Provenance::kIntegrated);
  EXPECT_THAT(program.err(), ContainsRegex("total +[0-9.]+ J .- [0-9.]+ J  integrated .gpu."));
  EXPECT_THAT(program.err(), ContainsRegex("mean power +[0-9.]+ W .- [0-9.]+ W  integrated"));
  EXPECT_THAT(program.err(), Not(HasSubstr("measured")));
}

TEST_F(MonitorEnergy, AnEstimateThatOnlyStandsByIsNoGap) {
  SteadyPackage package;
  std::filesystem::create_directory_symlink("/proc", package.tree.root() / "proc");
  Program program(monitor({"--root", package.tree.root().native(), "--nvml-library", "/dev/null"},
                          {"sleep", "2.6"}));
  ASSERT_EQ(program.wait_status(), 0) << program.err();
  const RunRecord run = record();
  EXPECT_EQ(run.energy.components.at("cpu").provenance, Provenance::kMeasured);
  EXPECT_THAT(run.sources, Contains(::testing::Field(&SourceRecord::name, "estimate/cpu")));
  if (package.late_joules() == 0.0) {
    EXPECT_THAT(run.flags, Not(Contains("gap")));
  }
}

TEST_F(MonitorEnergy, LostGpuIsFlaggedAndTheRunGoesOn) {
  const FakeNvmlDir fake(JOULESCALE_FAKE_NVML_DIR,
                         "gpu GPU-1 NVIDIA Fake\npower 0:100\nenergy_codes 0x60 15x*\n"
                         "power_codes 0x60 15x*\n");
  Program program(monitor({"--nvml-library", fake.library().native(), "--rate", "20"},
                          {"sh", "-c", "sleep 4; exit 9"}),
                  {.environment = {{"CUDA_VISIBLE_DEVICES", "0"}}});
  EXPECT_EQ(program.wait_status(), 9);
  EXPECT_THAT(record().flags, Contains("device_lost"));
}

TEST_F(MonitorEnergy, RegionsOfTwoRanksShareTheNode) {
  PowercapTree tree;
  tree.add_zone("intel-rapl:0", "package-0", 0);
  LiveCounters live(
      tree,
      {{"intel-rapl:0", [](double t) { return static_cast<std::uint64_t>(100e6 * t); }}},
      std::chrono::milliseconds(2));
  const std::string rank = JOULESCALE_MARK_PROGRAM;
  Program program(monitor({"--root", tree.root().native(), "--rate", "50"},
                          {"sh", "-c", rank + " 0 2 & " + rank + " 1 2 & wait"}));
  ASSERT_EQ(program.wait_status(), 0);
  const RunRecord run = record();
  ASSERT_EQ(run.regions.size(), 2U);
  const RegionRecord& forward = run.regions.at(1);
  EXPECT_EQ(forward.name, "forward");
  EXPECT_EQ(forward.count, 4U);
  EXPECT_GE(forward.duration.value(), 1.2);
  // 100 W over the mean of both ranks' time in the region.
  EXPECT_NEAR(forward.energy->value(),
              100.0 * forward.duration.value() / 2.0,
              forward.uncertainty->value());
  EXPECT_LT(forward.uncertainty->value(), 0.5 * forward.energy->value());  // also on a busy machine
  EXPECT_LE(forward.energy->value() + run.regions.at(0).energy->value(), run.energy.total->value());
  ASSERT_TRUE(run.training.has_value());
  EXPECT_EQ(run.training->samples, 128);
  EXPECT_EQ(run.training->updates, 2);
  EXPECT_EQ(run.training->model, "resnet8");
  EXPECT_EQ(run.training->top1_error, 17.5);
  EXPECT_EQ(run.training->phases.size(), 2U);
  EXPECT_EQ(run.devices.kind, "cpu_rank");
  EXPECT_EQ(run.devices.count, 2);
}

TEST_F(MonitorEnergy, NothingToMeasureStillRunsTheCommand) {
  const TempDir empty_root;
  Program program(monitor({"--root", empty_root.path().native(), "--nvml-library", "/dev/null"},
                          {"sh", "-c", "exit 4"}));
  EXPECT_EQ(program.wait_status(), 4);
  const RunRecord run = record();
  EXPECT_THAT(run.flags, Contains("no_sensor"));
  EXPECT_FALSE(run.energy.total.has_value());
  EXPECT_FALSE(run.energy.estimated.has_value());
  std::map<std::string, std::string> notes;
  for (const SourceNote& note : run.source_notes) {
    EXPECT_EQ(note.node, run.ranks.front().node);
    EXPECT_TRUE(notes.emplace(note.source, note.note).second) << note.source << " twice";
  }
  EXPECT_THAT(notes["nvml"], HasSubstr("/dev/null"));
  EXPECT_THAT(notes["powercap"], HasSubstr("no RAPL zones"));
}

TEST_F(MonitorEnergy, GpusThatTheEnvironmentNamesAreMissedWhereTheDriverIsNot) {
  PowercapTree tree;
  tree.add_zone("intel-rapl:0", "package-0", 0);
  for (const char* devices : {"0,1", "", "-1", "NoDevFiles"}) {
    std::vector<std::string> arguments =
        monitor({"--root", tree.root().native(), "--nvml-library", "/dev/null"}, {"sleep", "0.3"});
    std::erase(arguments, "--quiet");
    Program program(arguments, {.environment = {{"CUDA_VISIBLE_DEVICES", devices}}});
    EXPECT_EQ(program.wait_status(), 0);
    const bool are_named = std::string_view(devices) == "0,1";
    EXPECT_EQ(program.err().find("not measured: nvml: CUDA_VISIBLE_DEVICES names GPUs") !=
                  std::string::npos,
              are_named)
        << program.err();
    std::filesystem::remove_all(run_directory());
  }
}

/// 200 W on a counter that moves once in 100 ms, as the readings come: one of them may see two
/// moves and the next none.
class MonitorSlowCounter : public MonitorEnergy {
 protected:
  static constexpr double kWatts = 200.0;

  MonitorSlowCounter() { tree_.add_zone("intel-rapl:0", "package-0", 0); }

  void measure(const std::string& seconds) {
    LiveCounters live(tree_,
                      {{"intel-rapl:0",
                        [](double t) {
                          return static_cast<std::uint64_t>(std::floor(t * 10.0) * kWatts * 1e5);
                        }}},
                      std::chrono::milliseconds(2));
    Program program(monitor({"--root", tree_.root().native(), "--nvml-library", "/dev/null"},
                            {"sleep", seconds}));
    ASSERT_EQ(program.wait_status(), 0);
    seconds_late_ = live.seconds_late();
  }

  PowercapTree tree_;
  double seconds_late_ = 0.0;
};

TEST_F(MonitorSlowCounter, ThePeakOfAShortRunIsNoSurerThanItsEnergy) {
  ASSERT_NO_FATAL_FAILURE(measure("0.35"));
  const RunRecord run = record();
  ASSERT_TRUE(run.power.peak_uncertainty && run.energy.total_uncertainty);
  EXPECT_DOUBLE_EQ(run.power.peak_window->value(), run.duration.value());
  EXPECT_GE(run.power.peak_uncertainty->value() * run.duration.value(),
            run.energy.total_uncertainty->value() * 0.999);
}

TEST_F(MonitorSlowCounter, PeakPowerIsKnownToItsUncertainty) {
  ASSERT_NO_FATAL_FAILURE(measure("5"));
  const PowerRecord power = record().power;
  ASSERT_TRUE(power.peak && power.peak_uncertainty && power.peak_window);
  EXPECT_NEAR(
      power.peak->value(),
      kWatts,
      power.peak_uncertainty->value() + kWatts * seconds_late_ / power.peak_window->value());
  if (seconds_late_ == 0.0) {
    EXPECT_LT(power.peak_uncertainty->value(), 0.15 * kWatts);
  }
}

TEST_F(MonitorEnergy, SensorsListsEverySourceWithReasonOrChannels) {
  PowercapTree tree;
  tree.add_zone("intel-rapl:0", "package-0", 0);
  tree.set_proc_stat(2, 10);
  tree.set_memory_kib(1 << 20);
  Program program({joulescale(),
                   "sensors",
                   "--format",
                   "json",
                   "--root",
                   tree.root().native(),
                   "--nvml-library",
                   "/dev/null"});
  EXPECT_EQ(program.wait_status(), 0);
  EXPECT_EQ(program.err(), "");
  const auto json = nlohmann::json::parse(program.out());
  std::map<std::string, bool> available;
  for (const auto& source : json["sources"]) {
    available[source["name"]] = source["available"];
    EXPECT_EQ(source["available"].get<bool>(), !source["channels"].empty());
    EXPECT_EQ(source["available"].get<bool>(), !source.contains("reason"));
  }
  EXPECT_TRUE(available.at("powercap"));
  EXPECT_FALSE(available.at("nvml"));
  EXPECT_TRUE(available.at("estimate"));
  EXPECT_FALSE(available.at("amdsmi"));
  Program table({joulescale(), "sensors", "--root", tree.root().native()});
  EXPECT_EQ(table.wait_status(), 0);
  EXPECT_THAT(table.out(), HasSubstr("not built in this version"));
}

}  // namespace
}  // namespace joulescale::testing
