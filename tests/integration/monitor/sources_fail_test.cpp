// SPDX-License-Identifier: Apache-2.0
// Sources that hang, stall or are no sources, and a monitor that is stopped: the command does not
// notice, the others are measured, and what was not seen is said.
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/integration/monitor/live_counters.h"
#include "tests/integration/monitor/monitor_harness.h"
#include "tests/support/fake_nvml_dir.h"

namespace joulescale::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kGpuWatts = 300.0;
/// The monitor gives a source that hangs two seconds at its end; the rest is for a busy machine.
constexpr double kLongestEnd = 6.0;
constexpr const char* kForEver = "100000000";  // ms

class SourcesFail : public MonitorTest {
 protected:
  /// One GPU of 300 W; `lines` make it fail.
  static std::string gpu(const std::string& lines, const std::string& before = "") {
    return fmt::format("{}epoch_ns {}\ngpu GPU-0 NVIDIA Fake\nupdate_ms 20\npower 0:{}\n{}",
                       before,
                       system_clock().monotonic_now().count(),
                       kGpuWatts,
                       lines);
  }
  std::vector<std::string> options(const FakeNvmlDir& gpus) const {
    return {"--root", package_.tree.root().native(), "--nvml-library", gpus.library().native()};
  }
  static const SourceRecord& source(const RunRecord& run, const std::string& part) {
    static const SourceRecord kNone;
    for (const SourceRecord& source : run.sources) {
      if (source.name.find(part) != std::string::npos) {
        return source;
      }
    }
    ADD_FAILURE() << "no source " << part;
    return kNone;
  }
  /// Runs the command; how long the monitor took beyond it.
  double seconds_beyond_the_command(const FakeNvmlDir& gpus, const std::string& seconds) const {
    const auto began = std::chrono::steady_clock::now();
    Program program(monitor(options(gpus), {"sh", "-c", "sleep " + seconds + "; exit 3"}));
    EXPECT_EQ(program.wait_status(), 3) << program.err();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count() -
           record().duration.value();
  }
  void expect_cpu_whole(const RunRecord& run) const {
    expect_energy(run.energy.components.at("cpu"),
                  SteadyPackage::kWatts * run.duration.value(),
                  package_.late_joules());
  }

  SteadyPackage package_;
};

TEST_F(SourcesFail, AMonitorThatWasStoppedLosesNoEnergyOfCounters) {
  const FakeNvmlDir gpus(JOULESCALE_FAKE_NVML_DIR, gpu(""));
  Program program(monitor(options(gpus), {"sh", "-c", "echo ready; sleep 4.5; exit 3"}));
  ASSERT_TRUE(program.wait_for_output("ready"));
  std::this_thread::sleep_for(500ms);
  program.signal(SIGSTOP);
  std::this_thread::sleep_for(2500ms);
  program.signal(SIGCONT);
  EXPECT_EQ(program.wait_status(), 3);
  const RunRecord run = record();
  EXPECT_THAT(run.flags, Contains("gap"));
  EXPECT_THAT(run.flags, Not(Contains("clock_step")));
  expect_cpu_whole(run);
  expect_energy(run.energy.components.at("gpu"), kGpuWatts * run.duration.value());
  EXPECT_GT(source(run, "powercap").missed, 10U);
}

TEST_F(SourcesFail, ASlowSourceDelaysNoOther) {
  const FakeNvmlDir gpus(JOULESCALE_FAKE_NVML_DIR, gpu("during 1.5:1.7 slow 2000\n"));
  EXPECT_LT(seconds_beyond_the_command(gpus, "4"), kLongestEnd);
  const RunRecord run = record();
  expect_cpu_whole(run);
  expect_energy(run.energy.components.at("gpu"), kGpuWatts * run.duration.value());
  EXPECT_GT(source(run, "powercap").samples, source(run, "GPU-0/energy").samples + 10);
  EXPECT_GE(source(run, "GPU-0/energy").missed, 15U);
}

TEST_F(SourcesFail, ASourceThatHangsForEverIsGivenUpAndItsGapIsFlagged) {
  const FakeNvmlDir gpus(JOULESCALE_FAKE_NVML_DIR,
                         gpu(fmt::format("during 2.5:* slow {}\n", kForEver)));
  EXPECT_LT(seconds_beyond_the_command(gpus, "6"), kLongestEnd);
  const RunRecord run = record();
  expect_cpu_whole(run);
  const ComponentEnergy& energy = run.energy.components.at("gpu");
  EXPECT_NEAR(energy.energy.value(), kGpuWatts * run.duration.value(), energy.uncertainty->value());
  EXPECT_THAT(run.flags, Contains("gap"));
}

TEST_F(SourcesFail, ASourceThatNeverOpensHoldsUpNothing) {
  const FakeNvmlDir gpus(JOULESCALE_FAKE_NVML_DIR, gpu("", "init_ms 100000000\n"));
  EXPECT_LT(seconds_beyond_the_command(gpus, "1"), kLongestEnd);
  const RunRecord run = record();
  expect_cpu_whole(run);
  EXPECT_FALSE(run.energy.components.contains("gpu"));
  EXPECT_THAT(run.source_notes,
              Contains(AllOf(Field(&SourceNote::source, "nvml"),
                             Field(&SourceNote::missing, true),
                             Field(&SourceNote::note, HasSubstr("did not answer")))));
}

TEST_F(SourcesFail, WithoutItsJournalThereIsNoPeakPowerNotZero) {
  std::vector<std::string> arguments = monitor(
      {"--root", package_.tree.root().native(), "--nvml-library", "/dev/null"},
      {"sh", "-c", "sleep 0.5; rm -rf '" + run_directory().native() + "'; sleep 0.5; exit 4"});
  std::erase(arguments, "--quiet");
  Program program(arguments);
  EXPECT_EQ(program.wait_status(), 4);
  EXPECT_THAT(program.err(), HasSubstr("mean power"));
  EXPECT_THAT(program.err(), Not(HasSubstr("peak power")));
  EXPECT_THAT(program.err(), Not(HasSubstr("record: ")));
}

TEST_F(SourcesFail, ADriverThatCannotBeInitialisedIsMissed) {
  for (const auto& [code, is_missing] : {std::pair(999, true), {18, true}, {9, false}}) {
    std::filesystem::remove_all(run_directory());
    const FakeNvmlDir gpus(JOULESCALE_FAKE_NVML_DIR, gpu("", fmt::format("init {}\n", code)));
    Program program(monitor(options(gpus), {"sleep", "0.2"}));
    EXPECT_EQ(program.wait_status(), 0);
    const RunRecord run = record();
    EXPECT_THAT(run.source_notes,
                Contains(AllOf(Field(&SourceNote::source, "nvml"),
                               Field(&SourceNote::missing, is_missing))))
        << code;
    EXPECT_EQ(std::ranges::count(run.flags, "no_sensor"), is_missing ? 1 : 0) << code;
  }
}

TEST_F(SourcesFail, WaitingForARequiredSourceCanBeInterrupted) {
  const FakeNvmlDir gpus(JOULESCALE_FAKE_NVML_DIR, gpu("", "init_ms 100000000\n"));
  std::vector<std::string> arguments = options(gpus);
  arguments.insert(arguments.end(), {"--require", "gpu"});
  const auto began = std::chrono::steady_clock::now();
  Program program(monitor(arguments, {"echo", "started"}), {.new_session = true});
  ASSERT_TRUE(wait_for_file("ranks/0.json", 5s));
  std::this_thread::sleep_for(700ms);
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait_status(), -SIGTERM);
  EXPECT_EQ(program.out(), "");
  EXPECT_LT(std::chrono::steady_clock::now() - began, 15s) << "30 s without the signal";
}

TEST_F(SourcesFail, ASourceThatOpensLateIsMeasuredFromThen) {
  const FakeNvmlDir gpus(JOULESCALE_FAKE_NVML_DIR, gpu("", "init_ms 1500\n"));
  EXPECT_LT(seconds_beyond_the_command(gpus, "4"), kLongestEnd);
  const RunRecord run = record();
  expect_cpu_whole(run);
  EXPECT_THAT(run.flags, Contains("late_start"));
  const ComponentEnergy& energy = run.energy.components.at("gpu");
  EXPECT_LT(energy.energy.value(), kGpuWatts * run.duration.value());
  EXPECT_NEAR(energy.energy.value(), kGpuWatts * run.duration.value(), energy.uncertainty->value());
}

TEST_F(SourcesFail, APipeInPlaceOfACounterIsNotWaitedFor) {
  PowercapTree tree;
  tree.add_zone("intel-rapl:0", "package-0", 5);
  tree.remove("intel-rapl:0", "energy_uj");
  ASSERT_EQ(::mkfifo((tree.zone("intel-rapl:0") / "energy_uj").c_str(), 0600), 0);
  Program sensors(
      {joulescale(), "sensors", "--root", tree.root().native(), "--nvml-library", "/dev/null"});
  sensors.wait();
  EXPECT_THAT(sensors.out() + sensors.err(), HasSubstr("energy_uj cannot be read"));
  const auto began = std::chrono::steady_clock::now();
  Program program(monitor({"--root", tree.root().native(), "--nvml-library", "/dev/null"},
                          {"sh", "-c", "exit 3"}));
  EXPECT_EQ(program.wait_status(), 3);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 2s) << "a source that hangs is given 2 s";
  EXPECT_THAT(record().flags, Contains("no_sensor"));
}

}  // namespace
}  // namespace joulescale::testing
