// SPDX-License-Identifier: Apache-2.0
// joulescale recover: what is left of runs whose monitor was killed.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/integration/monitor/live_counters.h"
#include "tests/integration/monitor/monitor_harness.h"
#include "tests/support/count_of.h"
#include "tests/support/fake_nvml_dir.h"

namespace joulescale::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

namespace fs = std::filesystem;

class MonitorRecover : public MonitorTest {
 protected:
  std::vector<std::string> measured(const std::vector<std::string>& command) const {
    return monitor({"--root", package_.tree.root().native(), "--nvml-library", "/dev/null"},
                   command);
  }

  enum class OwnGpu { kNo, kYes };  // whether rank N may use GPU N alone

  /// The monitor of each rank of one launch, one after the other.
  std::vector<std::unique_ptr<Program>> start_two_ranks(const std::vector<std::string>& arguments,
                                                        OwnGpu own_gpu = OwnGpu::kNo) const {
    std::vector<std::unique_ptr<Program>> ranks;
    for (int rank = 0; rank < 2; ++rank) {
      auto environment = torchrun_rank(rank, 2);
      if (own_gpu == OwnGpu::kYes) {
        environment["CUDA_VISIBLE_DEVICES"] = std::to_string(rank);
      }
      ranks.push_back(
          std::make_unique<Program>(arguments, ProgramOptions{.environment = environment}));
      wait_for_rank(rank, 10s);
    }
    return ranks;
  }

  static void kill_all(const std::vector<std::unique_ptr<Program>>& ranks) {
    for (const auto& program : ranks) {
      program->signal(SIGKILL);
      program->wait();
    }
  }

  void remove_journal(int rank) const {
    for (const auto& node : fs::directory_iterator(run_directory() / "nodes")) {
      fs::remove(node.path() / ("journal-" + std::to_string(rank)));
    }
  }

  SteadyPackage package_;
};

TEST_F(MonitorRecover, KilledAtAnyMomentAtMostTheLastSecondIsLost) {
  std::mt19937 random(20261201);
  std::uniform_real_distribution<double> moment(0.02, 2.3);
  const int kills = std::getenv("JOULESCALE_SOAK") != nullptr ? 200 : 20;
  for (int kill = 0; kill < kills; ++kill) {
    fs::remove_all(run_directory());
    const double seconds = moment(random);
    Program program(measured({"sleep", "4"}), {.new_session = true});
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    program.signal(SIGKILL);
    program.wait();
    Program recover({joulescale(), "recover", run_directory().native()});
    const int status = recover.wait_status();
    if (!fs::exists(run_directory() / "ranks/0.json") ||
        fs::file_size(run_directory() / "ranks/0.json") == 0) {
      EXPECT_NE(status, 0) << "killed before it began; nothing to recover";
      continue;
    }
    if (seconds < 1.6 && status != 0) {
      EXPECT_EQ(status, 1);
      EXPECT_THAT(recover.err(), HasSubstr("nothing to recover"));
      EXPECT_FALSE(fs::exists(run_directory() / "run.json")) << "nothing of it is known";
      continue;
    }
    ASSERT_EQ(status, 0) << "killed after " << seconds << " s: " << recover.err();
    const RunRecord run = record();
    EXPECT_THAT(run.flags, Contains("recovered"));
    EXPECT_FALSE(run.exit_status.has_value());
    EXPECT_GE(run.duration.value(), seconds - 1.6) << "start-up, and at most the last second";
    EXPECT_LE(run.duration.value(), seconds + 0.3);
    if (run.duration.value() > 0.3) {
      expect_energy(run.energy.components.at("cpu"),
                    SteadyPackage::kWatts * run.duration.value(),
                    package_.late_joules());
    }
  }
}

TEST_F(MonitorRecover, GpusAndHardwareOfAKilledRunAreKnown) {
  const FakeNvmlDir gpus(JOULESCALE_FAKE_NVML_DIR,
                         "gpu GPU-1 NVIDIA A\npower 0:100\ngpu GPU-2 NVIDIA A\npower 0:100\n");
  Program program(monitor({"--nvml-library", gpus.library().native()}, {"sleep", "3"}),
                  {.new_session = true});
  std::this_thread::sleep_for(2200ms);
  program.signal(SIGKILL);
  program.wait();
  Program recover({joulescale(), "recover", run_directory().native()});
  ASSERT_EQ(recover.wait_status(), 0) << recover.err();
  const RunRecord run = record();
  EXPECT_EQ(run.devices.kind, "gpu");
  EXPECT_EQ(run.devices.count, 2);
  EXPECT_EQ(run.hardware.gpu_model, "NVIDIA A");
  EXPECT_EQ(run.hardware.gpus_per_node, 2);
  // Without the rank's own word (killed before it was written) the journal tells of the GPUs.
  fs::remove(run_directory() / "run.json");
  const fs::path rank_file = run_directory() / "ranks/0.json";
  std::ifstream in(rank_file);
  std::string text((std::istreambuf_iterator<char>(in)), {});
  in.close();
  auto rank = nlohmann::json::parse(text);
  rank.erase("ended_ns");
  rank["facts"]["gpus"] = nlohmann::json::array();
  std::ofstream(rank_file) << rank.dump();
  Program again({joulescale(), "recover", run_directory().native()});
  ASSERT_EQ(again.wait_status(), 0) << again.err();
  EXPECT_EQ(record().devices.count, 2) << text;
}

TEST_F(MonitorRecover, AFinishedRunStaysAsItIs) {
  Program program(measured({"sh", "-c", "exit 3"}));
  ASSERT_EQ(program.wait_status(), 3);
  std::ifstream before_file(run_directory() / "run.json");
  const std::string before((std::istreambuf_iterator<char>(before_file)), {});
  Program recover({joulescale(), "recover", run_directory().native()});
  EXPECT_EQ(recover.wait_status(), 0) << recover.err();
  std::ifstream after_file(run_directory() / "run.json");
  EXPECT_EQ(std::string((std::istreambuf_iterator<char>(after_file)), {}), before);
}

TEST_F(MonitorRecover, ANodeThatFailedJustAfterTheEndLosesNothing) {
  Program program(measured({"sh", "-c", "sleep 0.5; exit 3"}));
  ASSERT_EQ(program.wait_status(), 3);
  const double energy_j = record().energy.components.at("cpu").energy.value();
  // As a file system leaves files that were not synced.
  fs::remove(run_directory() / "run.json");
  for (const auto& node : fs::directory_iterator(run_directory() / "nodes")) {
    fs::resize_file(node.path() / "node.json", 0);
  }
  Program recover({joulescale(), "recover", run_directory().native()});
  ASSERT_EQ(recover.wait_status(), 0) << recover.err();
  EXPECT_NEAR(record().energy.components.at("cpu").energy.value(), energy_j, 1e-6 * energy_j);
  EXPECT_EQ(record().exit_status, 3);
}

TEST_F(MonitorRecover, ARunThatGoesOnIsLeftAlone) {
  Program program(measured({"sleep", "1.5"}));
  std::this_thread::sleep_for(700ms);
  Program recover({joulescale(), "recover", run_directory().native()});
  EXPECT_EQ(recover.wait_status(), 1);
  EXPECT_THAT(recover.err(), HasSubstr("rank 0 still runs"));
  EXPECT_EQ(program.wait_status(), 0);
  EXPECT_EQ(record().exit_status, 0);
}

/// What is left of a run whose monitor is killed when its journal was synced once.
class KilledRun : public MonitorRecover {
 protected:
  void kill_a_run(const std::map<std::string, std::string>& environment = {}) const {
    Program program(measured({"sh", "-c", "echo ready; sleep 2"}), {.environment = environment});
    ASSERT_TRUE(program.wait_for_output("ready"));
    std::this_thread::sleep_for(1300ms);
    program.signal(SIGKILL);
    program.wait();
    ASSERT_FALSE(has_record());
  }
  bool has_record() const { return fs::exists(run_directory() / "run.json"); }
  static std::string said_by(const std::string& command, const fs::path& source) {
    Program program({joulescale(), command, source.native()});
    program.wait();
    return program.err();
  }
};

TEST_F(KilledRun, ReportAndAnalyzeFinishIt) {
  for (const char* command : {"report", "analyze"}) {
    fs::remove_all(run_directory());
    kill_a_run();
    EXPECT_THAT(said_by(command, run_directory()), HasSubstr("its record is finished"));
    const RunRecord run = record();
    EXPECT_THAT(run.flags, Contains("recovered"));
    EXPECT_FALSE(run.exit_status.has_value());
    expect_energy(run.energy.components.at("cpu"),
                  SteadyPackage::kWatts * run.duration.value(),
                  package_.late_joules());
    EXPECT_EQ(said_by(command, run_directory()).find("its record is finished"), std::string::npos);
  }
}

TEST_F(KilledRun, OfAStudyIsFinishedToo) {
  kill_a_run();
  fs::create_directories(work_ / "study/runs");
  fs::rename(run_directory(), work_ / "study/runs/killed");
  Program whole(measured({"true"}));
  ASSERT_EQ(whole.wait_status(), 0);
  fs::rename(run_directory(), work_ / "study/runs/whole");
  EXPECT_THAT(said_by("report", work_ / "study"),
              HasSubstr("runs/killed': its monitor was killed"));
  EXPECT_TRUE(fs::exists(work_ / "study/runs/killed/run.json"));
}

TEST_F(KilledRun, ThatIsNoneGoesOnUnharmed) {
  Program program(measured({"sh", "-c", "echo ready; sleep 1.5"}));
  ASSERT_TRUE(program.wait_for_output("ready"));
  said_by("report", run_directory());
  program.signal(SIGSTOP);
  said_by("analyze", run_directory());
  EXPECT_FALSE(has_record());
  program.signal(SIGCONT);
  EXPECT_EQ(program.wait_status(), 0);
  EXPECT_EQ(record().exit_status, 0);
}

TEST_F(KilledRun, OfWhichRanksMayComeYetIsLeftToRecover) {
  kill_a_run(torchrun_rank(0, 2));
  said_by("report", run_directory());
  EXPECT_FALSE(has_record());
  Program recover({joulescale(), "recover", run_directory().native()});
  EXPECT_EQ(recover.wait_status(), 0) << recover.err();
  EXPECT_THAT(recover.out(), HasSubstr("1 of 2 ranks left a record"));
  EXPECT_THAT(record().flags, Contains("recovered"));
  EXPECT_EQ(record().launch.expected_ranks, 2);
}

TEST_F(KilledRun, InAContainerIsNotTakenForOne) {
  std::vector<std::string> contained = {"unshare", "--pid", "--fork", "--kill-child"};
  if (Program probe({"unshare", "--pid", "--fork", "true"}); probe.wait_status() != 0) {
    GTEST_SKIP() << "Skipped: a PID namespace needs root";
  }
  const auto monitored = measured({"sh", "-c", "echo ready; sleep 1.5"});
  contained.insert(contained.end(), monitored.begin(), monitored.end());
  Program program(contained);
  ASSERT_TRUE(program.wait_for_output("ready"));
  said_by("report", run_directory());
  Program recover({joulescale(), "recover", run_directory().native()});
  EXPECT_EQ(recover.wait_status(), 1);
  EXPECT_THAT(recover.err(), HasSubstr("rank 0 still runs"));
  EXPECT_FALSE(has_record());
  EXPECT_EQ(program.wait_status(), 0);
  EXPECT_EQ(record().exit_status, 0);
}

TEST_F(MonitorRecover, NodesOnDifferentFileSystemsMerge) {
  for (const int rank : {0, 1}) {
    auto environment = torchrun_rank(rank, 2);
    environment["SLURMD_NODENAME"] = "node" + std::to_string(rank);
    std::vector<std::string> arguments = measured({"sleep", "0.5"});
    for (std::string& argument : arguments) {
      if (argument == run_directory().native()) {
        argument += std::to_string(rank);
      }
    }
    Program program(arguments, {.environment = environment});
    ASSERT_EQ(program.wait_status(), 0) << program.err();
  }
  const std::string first = run_directory().native() + "0";
  const std::string second = run_directory().native() + "1";
  Program merge({joulescale(), "recover", first, second, "--output", run_directory().native()});
  ASSERT_EQ(merge.wait_status(), 0) << merge.err();
  const RunRecord run = record();
  ASSERT_EQ(run.nodes.size(), 2U);
  ASSERT_EQ(run.ranks.size(), 2U);
  EXPECT_EQ(run.exit_status, 0);
  EXPECT_DOUBLE_EQ(run.energy.total->value(),
                   run.nodes[0].energy->value() + run.nodes[1].energy->value());
  Program again({joulescale(), "recover", first, second, "--output", run_directory().native()});
  EXPECT_EQ(again.wait_status(), 2);
  EXPECT_THAT(again.err(), HasSubstr("not empty"));
  Program twice({joulescale(), "recover", first, first, "--output", (work_ / "other").native()});
  EXPECT_EQ(twice.wait_status(), 2);
  EXPECT_THAT(twice.err(), HasSubstr("in another of the directories too"));
}

TEST_F(MonitorRecover, AJournalThatIsLostIsSaid) {
  const auto ranks = start_two_ranks(monitor({"--nvml-library", "/dev/null"}, {"sleep", "20"}));
  std::this_thread::sleep_for(2200ms);
  kill_all(ranks);
  remove_journal(0);
  Program recover({joulescale(), "recover", run_directory().native()});
  EXPECT_EQ(recover.wait_status(), 0) << recover.err();
  EXPECT_THAT(recover.out(), HasSubstr("the journal of rank 0 is missing or holds no reading"));
  EXPECT_THAT(recover.out(), Not(HasSubstr("joulescale sensors")));
}

TEST_F(MonitorRecover, AJournalThatIsDamagedIsSaid) {
  Program program(measured({"sleep", "20"}), {.new_session = true});
  wait_for_rank(0, 10s);
  std::this_thread::sleep_for(3300ms);
  program.signal(SIGKILL);
  program.wait();
  fs::path journal;
  for (const auto& node : fs::directory_iterator(run_directory() / "nodes")) {
    journal = node.path() / "journal-0";
  }
  std::fstream file(journal, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(fs::file_size(journal) - 20));  // its last second
  file.put('\x5a').put('\xa5');
  file.close();
  Program recover({joulescale(), "recover", run_directory().native()});
  EXPECT_EQ(recover.wait_status(), 0) << recover.err();
  EXPECT_THAT(recover.out(), HasSubstr("of the journal of rank 0 cannot be read"));
  Program rows({joulescale(), "export", run_directory().native()});
  EXPECT_EQ(rows.wait_status(), 0);
  EXPECT_THAT(rows.err(), HasSubstr("its rows end early"));
  EXPECT_GT(count_of(rows.out(), "\n"), 10U);
}

TEST_F(MonitorRecover, ACommandThatOutlivedItsMonitorIsSaid) {
  Program program(measured({"sleep", "6"}), {.new_session = true});
  wait_for_rank(0, 10s);
  std::this_thread::sleep_for(3300ms);
  program.signal(SIGKILL);
  program.wait();
  Program recover({joulescale(), "recover", run_directory().native()});
  EXPECT_EQ(recover.wait_status(), 0) << recover.err();
  EXPECT_THAT(recover.out(), HasSubstr("the command of rank 0 (process "));
  EXPECT_THAT(recover.out(), HasSubstr("outlived its monitor and still ran"));
  EXPECT_TRUE(record().ranks.at(0).ended_at.empty());
  Program again({joulescale(), "recover", run_directory().native()});
  EXPECT_EQ(again.wait_status(), 0);
  EXPECT_THAT(again.err(), HasSubstr("was finished before: nothing to recover"));
}

TEST_F(MonitorRecover, AFinishedRankWithADamagedJournalIsSaid) {
  Program program(measured({"sleep", "2.3"}));
  ASSERT_EQ(program.wait_status(), 0);
  fs::remove(run_directory() / "run.json");
  for (const auto& node : fs::directory_iterator(run_directory() / "nodes")) {
    fs::remove(node.path() / "node.json");
    fs::resize_file(node.path() / "journal-0", fs::file_size(node.path() / "journal-0") - 10);
  }
  Program recover({joulescale(), "recover", run_directory().native()});
  EXPECT_EQ(recover.wait_status(), 0) << recover.err();
  EXPECT_THAT(recover.out(), HasSubstr("of the journal of rank 0 cannot be read"));
}

TEST_F(MonitorRecover, ARankWhoseSourcesAnotherReadHasNoMadeUpTime) {
  const auto ranks = start_two_ranks(measured({"sleep", "20"}));
  std::this_thread::sleep_for(2500ms);
  kill_all(ranks);
  remove_journal(1);
  Program recover({joulescale(), "recover", run_directory().native()});
  EXPECT_EQ(recover.wait_status(), 0) << recover.err();
  EXPECT_THAT(recover.out(), HasSubstr("what no other rank read is not known"));
  const RunRecord run = record();
  ASSERT_EQ(run.ranks.size(), 2U);
  EXPECT_GT(run.ranks[0].duration->value(), 1.0);
  EXPECT_FALSE(run.ranks[1].duration) << "no time that was not seen";
}

TEST_F(MonitorRecover, TheGpuOfARankThatToldNothingIsKnownFromWhoReadItOn) {
  const FakeNvmlDir gpus(JOULESCALE_FAKE_NVML_DIR,
                         "gpu GPU-1 NVIDIA A\npower 0:100\ngpu GPU-2 NVIDIA A\npower 0:100\n");
  const auto ranks = start_two_ranks(
      monitor({"--nvml-library", gpus.library().native()}, {"sleep", "5"}), OwnGpu::kYes);
  std::this_thread::sleep_for(1500ms);
  ranks[0]->signal(SIGKILL);
  ranks[0]->wait();
  EXPECT_EQ(ranks[1]->wait_status(), 0);
  remove_journal(0);
  const fs::path rank_file = run_directory() / "ranks/0.json";
  std::ifstream in(rank_file);
  auto rank = nlohmann::json::parse(in);
  ASSERT_EQ(rank["facts"]["gpus"].size(), 1U);
  rank["facts"]["gpus"] = nlohmann::json::array();  // as if it had been killed before it told
  std::ofstream(rank_file) << rank.dump();
  Program recover({joulescale(), "recover", run_directory().native()});
  EXPECT_EQ(recover.wait_status(), 0) << recover.err();
  EXPECT_EQ(record().devices.count, 2);
}

TEST_F(MonitorRecover, WithoutAnyReadingThereIsNothingToRecover) {
  Program program(monitor({"--nvml-library", "/dev/null"}, {"sleep", "20"}));
  wait_for_rank(0, 10s);
  std::this_thread::sleep_for(300ms);
  program.signal(SIGKILL);
  program.wait();
  remove_journal(0);
  Program recover({joulescale(), "recover", run_directory().native()});
  EXPECT_EQ(recover.wait_status(), 1);
  EXPECT_THAT(recover.err(), HasSubstr("nothing to recover"));
  EXPECT_FALSE(fs::exists(run_directory() / "run.json"));
}

TEST_F(MonitorRecover, OfRanksWithoutAnyReadingNothingIsMadeUp) {
  const auto ranks = start_two_ranks(monitor({"--nvml-library", "/dev/null"}, {"sleep", "20"}));
  kill_all(ranks);
  remove_journal(0);
  remove_journal(1);
  Program recover({joulescale(), "recover", run_directory().native()});
  EXPECT_EQ(recover.wait_status(), 1);
  EXPECT_THAT(recover.err(), HasSubstr("nothing to recover"));
  EXPECT_FALSE(fs::exists(run_directory() / "run.json"));
}

TEST_F(MonitorRecover, APlaceOutsideTheRunDirectoryIsRefused) {
  Program program(monitor({"--nvml-library", "/dev/null"}, {"sleep", "0.1"}));
  ASSERT_EQ(program.wait_status(), 0);
  fs::remove(run_directory() / "run.json");
  const fs::path file = run_directory() / "ranks" / "0.json";
  auto rank = nlohmann::json::parse(std::ifstream(file));
  rank["node_directory"] = "../../evil";
  rank.erase("ended_ns");
  std::ofstream(file) << rank;
  Program recover({joulescale(), "recover", run_directory().native()});
  EXPECT_NE(recover.wait_status(), 0);
  EXPECT_THAT(recover.err(), HasSubstr("node_directory"));
  EXPECT_FALSE(fs::exists(work_ / "evil"));
}

TEST_F(MonitorRecover, WhatIsNoRunDirectoryIsSaid) {
  Program missing({joulescale(), "recover", (work_ / "nothing").native()});
  EXPECT_EQ(missing.wait_status(), 2);
  EXPECT_THAT(missing.err(), HasSubstr("nothing' is no run directory: it has no launch.json"));
  fs::create_directories(run_directory());
  std::ofstream(run_directory() / "launch.json") << "{";
  Program broken({joulescale(), "recover", run_directory().native()});
  EXPECT_EQ(broken.wait_status(), 2);
  EXPECT_THAT(broken.err(), HasSubstr("launch.json"));
}

}  // namespace
}  // namespace joulescale::testing
