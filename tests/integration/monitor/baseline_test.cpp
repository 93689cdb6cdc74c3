// SPDX-License-Identifier: Apache-2.0
// joulescale monitor --baseline: the idle node is measured before the command is started.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "joulescale/base/file.h"
#include "joulescale/monitor/journal.h"
#include "joulescale/monitor/rank_record.h"

#include "tests/fakes/nvml/scenario.h"
#include "tests/integration/monitor/live_counters.h"
#include "tests/integration/monitor/monitor_harness.h"
#include "tests/support/fake_nvml_dir.h"

namespace joulescale::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

namespace fs = std::filesystem;

constexpr double kIdleWatts = 20.0;
constexpr double kBusyWatts = 120.0;
constexpr double kBusyShare = 0.3;  // of the node's two hardware threads, all the time

/// A package that takes 20 W until a file is there, then 120 W.
class SwitchedPackage {
 public:
  explicit SwitchedPackage(fs::path file) : file_(std::move(file)) {}

  const fs::path& root() const { return tree_.root(); }
  double late_joules() const { return counters_.seconds_late() * kBusyWatts; }
  /// What the node took above idle until `end`, in the counter's own view of the time.
  double above_idle_joules(Nanoseconds end) const {
    return (kBusyWatts - kIdleWatts) * (counters_.seconds_at(end) - switched_at_s_.load());
  }

 private:
  std::uint64_t energy_uj(double time_s) {
    std::error_code missing;
    if (switched_at_s_ < 0.0 && fs::exists(file_, missing)) {
      switched_at_s_ = time_s;
    }
    tree_.set_proc_stat(2, static_cast<std::uint64_t>(time_s * kBusyShare * 2.0 * 100.0));
    const double above_s = switched_at_s_ < 0.0 ? 0.0 : time_s - switched_at_s_;
    return static_cast<std::uint64_t>(1e6 *
                                      (kIdleWatts * time_s + (kBusyWatts - kIdleWatts) * above_s));
  }

  fs::path file_;
  std::atomic<double> switched_at_s_{-1.0};
  OnePackage tree_;
  LiveCounters counters_{tree_,
                         {{"intel-rapl:0", [this](double t) { return energy_uj(t); }}},
                         std::chrono::milliseconds(2)};
};

RankRecordFile rank_record(const fs::path& run_directory, int rank) {
  const auto text = read_file(run_directory / fmt::format("ranks/{}.json", rank));
  EXPECT_TRUE(text.ok());
  const auto record = parse_rank_record(text.ok() ? *text : "");
  EXPECT_TRUE(record.ok());
  return record.ok() ? *record : RankRecordFile();
}

class MonitorBaseline : public MonitorTest {
 protected:
  std::vector<std::string> options(const std::string& baseline) const {
    return {
        "--root", package_.root().native(), "--nvml-library", "/dev/null", "--baseline", baseline};
  }
  std::vector<std::string> busy_command(const std::string& seconds) const {
    return {"sh", "-c", "touch '" + started_.native() + "'; sleep " + seconds};
  }
  bool started() const { return fs::exists(started_); }

  void wait_for_start() const {
    for (int i = 0; i < 3000 && !started(); ++i) {
      std::this_thread::sleep_for(10ms);
    }
    ASSERT_TRUE(started());
  }

  /// Of a run whose end is known: 20 W before, 100 W more from the command's start on.
  void expect_baseline(const RunRecord& run, Nanoseconds end, double least_s) const {
    ASSERT_TRUE(run.baseline.has_value());
    const BaselineRecord& baseline = *run.baseline;
    ASSERT_TRUE(baseline.duration && baseline.power && baseline.energy && baseline.above);
    EXPECT_GE(baseline.duration->value(), least_s);
    const double late_w = package_.late_joules() / baseline.duration->value();
    EXPECT_NEAR(baseline.power->value(),
                kIdleWatts,
                1e-3 * kIdleWatts + baseline.power_uncertainty->value() + late_w);
    EXPECT_LT(baseline.power_uncertainty->value(), 0.2 * kIdleWatts + 2.0 * late_w);
    EXPECT_DOUBLE_EQ(baseline.energy->value(), baseline.power->value() * run.duration.value());
    EXPECT_DOUBLE_EQ(baseline.above->value(), run.energy.total->value() - baseline.energy->value());
    const double above_j = package_.above_idle_joules(end);
    const double late_j = package_.late_joules() + late_w * run.duration.value();
    EXPECT_NEAR(baseline.above->value(),
                above_j,
                1e-3 * above_j + baseline.above_uncertainty->value() + late_j);
    EXPECT_LT(baseline.above_uncertainty->value(), 0.25 * above_j + 2.0 * late_j);
    EXPECT_EQ(baseline.components.at("cpu").provenance, Provenance::kMeasured);
  }

  fs::path started_ = work_ / "started";
  SwitchedPackage package_{started_};
};

TEST_F(MonitorBaseline, StandsBesideTheGrossEnergy) {
  std::vector<std::string> arguments = monitor(options("1.5s"), busy_command("2"));
  arguments.erase(std::ranges::find(arguments, "--quiet"));
  const Nanoseconds before = system_clock().wall_now();
  Program program(arguments);
  ASSERT_EQ(program.wait_status(), 0) << program.err();
  const RunRecord run = record();
  const RankRecordFile rank = rank_record(run_directory(), 0);
  ASSERT_TRUE(rank.baseline_began && rank.began && rank.ended);
  expect_baseline(run, *rank.ended, 1.5);
  EXPECT_GE(run.started_at, format_rfc3339(before + std::chrono::milliseconds(1500)))
      << "the command's start, not the baseline's";
  EXPECT_NEAR(run.baseline->duration->value(),
              to_seconds(*rank.began - *rank.baseline_began).value(),
              1e-9);
  EXPECT_GT(run.energy.total->value(), 100.0 * run.duration.value()) << "gross, idle and all";
  EXPECT_THAT(program.err(), HasSubstr(" s before the start; "));
  EXPECT_THAT(program.err(), HasSubstr("  above it  "));
  EXPECT_THAT(program.err(), Not(HasSubstr("\r"))) << "no progress where there is no terminal";
}

TEST_F(MonitorBaseline, ANodeThatWasNotIdleIsSaidToBe) {
  Program program(monitor(options("2s"), {"true"}));
  ASSERT_EQ(program.wait_status(), 0) << program.err();
  const RunRecord run = record();
  ASSERT_TRUE(run.baseline && run.baseline->cpu_busy_share);
  EXPECT_NEAR(*run.baseline->cpu_busy_share, kBusyShare, 0.15);  // the fake may come late
  EXPECT_THAT(run.baseline->notes, Contains(HasSubstr("not idle: the CPUs were busy for")));
}

TEST_F(MonitorBaseline, GpusHaveOneToo) {
  // 50 W rising to 450 W within 20 s: at every time another power.
  const FakeNvmlDir fake(JOULESCALE_FAKE_NVML_DIR,
                         fmt::format("epoch_ns {}\ngpu GPU-aaaa NVIDIA Fake\nupdate_ms 20\n"
                                     "limit_w 700\npower 0:50 20:450\n",
                                     system_clock().monotonic_now().count()));
  Program program(monitor({"--root",
                           package_.root().native(),
                           "--nvml-library",
                           fake.library().native(),
                           "--require",
                           "gpu",
                           "--baseline",
                           "2s"},
                          {"sleep", "2"}),
                  {.environment = {{"CUDA_VISIBLE_DEVICES", "0"}}});
  ASSERT_EQ(program.wait_status(), 0) << program.err();
  const auto scenario = fake_nvml::read_scenario(fake.library().native() + ".scenario");
  const auto energy_at = [&](Nanoseconds time) {
    return scenario.devices[0].power.energy_at(
        to_seconds(time - Nanoseconds(*scenario.epoch_ns)).value());
  };
  const RankRecordFile rank = rank_record(run_directory(), 0);
  const RunRecord run = record();
  const BaselinePower& gpu = run.baseline->components.at("gpu");
  const double expected_w = (energy_at(*rank.began) - energy_at(*rank.baseline_began)) /
                            to_seconds(*rank.began - *rank.baseline_began).value();
  EXPECT_NEAR(gpu.power.value(), expected_w, 1e-3 * expected_w + gpu.uncertainty->value());
  EXPECT_LT(gpu.uncertainty->value(), 0.25 * expected_w);
  EXPECT_EQ(run.baseline->power->value(),
            gpu.power.value() + run.baseline->components.at("cpu").power.value());
}

TEST_F(MonitorBaseline, KilledInTheRunItIsRecovered) {
  Program program(monitor(options("1s"), busy_command("30")), {.new_session = true});
  wait_for_start();
  std::this_thread::sleep_for(3s);
  program.signal(SIGKILL);
  program.wait();
  Program recover({joulescale(), "recover", run_directory().native()});
  ASSERT_EQ(recover.wait_status(), 0) << recover.err();
  const RunRecord run = record();
  EXPECT_THAT(run.flags, Contains("recovered"));
  expect_baseline(run, *rank_record(run_directory(), 0).ended, 1.0);
  EXPECT_THAT(recover.out(), HasSubstr("  above it  "));
  program.signal_group(SIGKILL);
}

TEST_F(MonitorBaseline, KilledMeanwhileItThereIsNothingToRecover) {
  Program program(monitor(options("30s"), busy_command("1")), {.new_session = true});
  wait_for_rank(0, 30s);
  std::this_thread::sleep_for(2s);
  program.signal(SIGKILL);
  program.wait();
  EXPECT_FALSE(started());
  Program recover({joulescale(), "recover", run_directory().native()});
  EXPECT_EQ(recover.wait_status(), 1);
  EXPECT_THAT(recover.err(), HasSubstr("nothing to recover"));
  EXPECT_FALSE(fs::exists(run_directory() / "run.json")) << "nothing ran";
}

TEST_F(MonitorBaseline, ASignalMeanwhileStartsNothingAndLeavesNothing) {
  for (const int signal : {SIGINT, SIGTERM}) {
    Program program(monitor(options("60s"), busy_command("1")), {.new_session = true});
    wait_for_rank(0, 30s);
    std::this_thread::sleep_for(1s);
    program.signal(signal);
    EXPECT_EQ(program.wait_status(), -signal);
    EXPECT_FALSE(started());
    EXPECT_FALSE(fs::exists(run_directory()));
  }
}

TEST_F(MonitorBaseline, OtherSignalsDoNotEndIt) {
  Program program(monitor(options("2s"), {"true"}), {.new_session = true});
  wait_for_rank(0, 30s);
  std::this_thread::sleep_for(500ms);
  program.signal(SIGWINCH);
  EXPECT_EQ(program.wait_status(), 0);
  EXPECT_GE(record().baseline->duration->value(), 2.0);
}

TEST_F(MonitorBaseline, AMissingRequiredSourceIsSaidBeforeIt) {
  std::vector<std::string> more = options("60s");
  more.insert(more.end(), {"--require", "gpu"});
  Program program(monitor(more, busy_command("1")));
  EXPECT_EQ(program.wait_status(), 3) << "at once, not after a minute";
  EXPECT_FALSE(started());
  EXPECT_FALSE(fs::exists(run_directory()));
}

TEST_F(MonitorBaseline, RanksOfANodeShareOne) {
  std::vector<std::unique_ptr<Program>> ranks;
  ranks.reserve(2);
  for (int rank = 0; rank < 2; ++rank) {
    ranks.push_back(
        std::make_unique<Program>(monitor(options("2s"), busy_command("2")),
                                  ProgramOptions{.environment = torchrun_rank(rank, 2)}));
  }
  for (const auto& rank : ranks) {
    EXPECT_EQ(rank->wait_status(), 0) << rank->err();
  }
  const RunRecord run = record();
  ASSERT_EQ(run.ranks.size(), 2U);
  const Nanoseconds end =
      std::max(*rank_record(run_directory(), 0).ended, *rank_record(run_directory(), 1).ended);
  expect_baseline(run, end, 1.9);
}

TEST_F(MonitorBaseline, ARankWithoutOneSpoilsItAndThatIsSaid) {
  std::vector<std::string> without = options("3s");
  without.resize(4);
  Program other(monitor(without, {"sleep", "2"}), {.environment = torchrun_rank(1, 2)});
  wait_for_rank(1, 30s);
  Program with(monitor(options("3s"), {"sleep", "1"}), {.environment = torchrun_rank(0, 2)});
  EXPECT_EQ(with.wait_status(), 0);
  EXPECT_EQ(other.wait_status(), 0);
  const RunRecord run = record();
  ASSERT_TRUE(run.baseline.has_value());
  EXPECT_FALSE(run.baseline->power.has_value());
  EXPECT_THAT(run.baseline->notes,
              ElementsAre("another rank's command was started in the baseline: no value"));
}

TEST_F(MonitorBaseline, AJournalThatEndsEarlyStillHasIt) {
  std::vector<std::string> more = options("2s");
  more.insert(more.end(), {"--rate", "100"});
  Program program(monitor(more, busy_command("6")), {.file_size_limit = 7000});
  EXPECT_EQ(program.wait_status(), 0);
  EXPECT_THAT(program.err(), HasSubstr("journal is incomplete"));
  const RunRecord run = record();
  EXPECT_THAT(run.flags, Contains("disk_full"));
  ASSERT_TRUE(run.baseline && run.baseline->power);
  EXPECT_NEAR(run.baseline->power->value(),
              kIdleWatts,
              0.02 * kIdleWatts + run.baseline->power_uncertainty->value() +
                  package_.late_joules() / run.baseline->duration->value());
}

}  // namespace
}  // namespace joulescale::testing
