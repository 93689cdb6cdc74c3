// SPDX-License-Identifier: Apache-2.0
// Several monitors of one launch on one node, as torchrun, mpirun or srun start them: they share
// one record in which every source stands once.
#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "tests/integration/monitor/fake_node.h"
#include "tests/integration/monitor/monitor_harness.h"

namespace joulescale::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class MonitorRanks : public MonitorTest {
 protected:
  std::vector<std::string> options() const { return node_.monitor_options(); }

  std::unique_ptr<Program> start(int rank,
                                 int world_size,
                                 const std::vector<std::string>& command,
                                 std::map<std::string, std::string> more = {}) const {
    more.merge(torchrun_rank(rank, world_size));
    return std::make_unique<Program>(monitor(options(), command),
                                     ProgramOptions{.environment = std::move(more)});
  }

  /// Two ranks that see one GPU each and sleep for so long; both GPUs are read to the end.
  RunRecord run_with_a_gpu_each(const char* first_s, const char* second_s) const {
    const auto first = start(0, 2, {"sleep", first_s}, {{"CUDA_VISIBLE_DEVICES", "0"}});
    const auto second = start(1, 2, {"sleep", second_s}, {{"CUDA_VISIBLE_DEVICES", "1"}});
    EXPECT_EQ(first->wait_status(), 0);
    EXPECT_EQ(second->wait_status(), 0);
    RunRecord run = record();
    const double watts = FakeNode::gpu_watts(0) + FakeNode::gpu_watts(1);
    expect_energy(run.energy.components.at("gpu"), watts * run.duration.value());
    return run;
  }

  FakeNode node_;
};

TEST_F(MonitorRanks, FourRanksWithAGpuEachAreFourGpusEachOnce) {
  std::vector<std::unique_ptr<Program>> ranks;
  ranks.reserve(4);
  for (int rank = 0; rank < 4; ++rank) {
    ranks.push_back(start(rank,
                          4,
                          {"sh", "-c", "sleep 2; exit " + std::to_string(rank == 2 ? 6 : 0)},
                          {{"CUDA_VISIBLE_DEVICES", std::to_string(rank)}}));
  }
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(ranks[static_cast<std::size_t>(rank)]->wait_status(), rank == 2 ? 6 : 0);
  }
  const RunRecord run = record();
  EXPECT_EQ(run.devices.kind, "gpu");
  EXPECT_EQ(run.devices.count, 4);
  ASSERT_EQ(run.nodes.size(), 1U);
  ASSERT_EQ(run.ranks.size(), 4U);
  EXPECT_EQ(run.ranks[3].rank, 3);
  EXPECT_EQ(run.exit_status, 6);
  const double seconds = run.duration.value();
  EXPECT_GE(seconds, 2.0);
  EXPECT_LT(FakeNode::expect_gpus_of_ranks(run), 0.25);
  expect_energy(run.energy.components.at("cpu"),
                SteadyPackage::kWatts * seconds,
                node_.package().late_joules());
  EXPECT_THAT(run.energy.total_includes, ElementsAre("cpu", "gpu"));
  EXPECT_THAT(run.flags, Not(Contains("duplicate_source")));
  EXPECT_THAT(run.flags, Not(Contains("recovered")));
  EXPECT_THAT(lock_files(run.id), IsEmpty());
}

TEST_F(MonitorRanks, TheSummaryComesOnceFromTheLastRank) {
  const auto loud = [&](int rank) {
    std::vector<std::string> arguments = monitor(options(), {"sleep", rank == 0 ? "0.2" : "1"});
    arguments.erase(std::find(arguments.begin(), arguments.end(), "--quiet"));
    return std::make_unique<Program>(arguments,
                                     ProgramOptions{.environment = torchrun_rank(rank, 2)});
  };
  const auto first = loud(0);
  const auto last = loud(1);
  EXPECT_EQ(first->wait_status(), 0);
  EXPECT_THAT(first->err(),
              AllOf(HasSubstr("rank 0 of 2 has ended"), HasSubstr(run_directory().native())));
  EXPECT_FALSE(std::filesystem::exists(run_directory() / "run.json"));
  EXPECT_EQ(last->wait_status(), 0);
  EXPECT_THAT(last->err(), HasSubstr("record: " + run_directory().native()));
  EXPECT_EQ(record().ranks.size(), 2U);
}

TEST_F(MonitorRanks, OfOurOwnLauncherAreOneRun) {
  std::vector<std::string> arguments = {joulescale(), "launch", "--ranks", "3", "--"};
  const auto monitored = monitor(options(), {"sleep", "0.5"});
  arguments.insert(arguments.end(), monitored.begin(), monitored.end());
  Program program(arguments, ProgramOptions{.environment = {{"TORCHELASTIC_RUN_ID", "outer"}}});
  EXPECT_EQ(program.wait_status(), 0) << program.err();
  const RunRecord run = record();
  EXPECT_EQ(run.launch.launcher, "joulescale");
  EXPECT_EQ(run.launch.expected_ranks, 3);
  EXPECT_EQ(run.ranks.size(), 3U);
  EXPECT_EQ(run.exit_status, 0);
}

TEST_F(MonitorRanks, OfRanksThatEndTogetherOneSumsUp) {
  std::vector<std::unique_ptr<Program>> ranks;
  ranks.reserve(4);
  for (int rank = 0; rank < 4; ++rank) {
    std::vector<std::string> arguments = monitor(options(), {"sleep", "0.5"});
    arguments.erase(std::find(arguments.begin(), arguments.end(), "--quiet"));
    ranks.push_back(std::make_unique<Program>(
        arguments, ProgramOptions{.environment = torchrun_rank(rank, 4)}));
  }
  std::string all;
  for (const auto& rank : ranks) {
    EXPECT_EQ(rank->wait_status(), 0);
    all += rank->err();
  }
  const std::size_t first = all.find("record: ");
  EXPECT_NE(first, std::string::npos);
  EXPECT_EQ(all.find("record: ", first + 1), std::string::npos);
}

TEST_F(MonitorRanks, AnotherRankGoesOnWhenTheSamplerIsKilled) {
  const auto sampler = start(0, 2, {"sleep", "6"});
  wait_for_rank(0, 10s);
  std::this_thread::sleep_for(600ms);  // it reads every source before the other comes
  const auto other = start(1, 2, {"sleep", "3"});
  wait_for_rank(1, 10s);
  std::this_thread::sleep_for(600ms);
  sampler->signal(SIGKILL);
  sampler->wait();
  EXPECT_EQ(other->wait_status(), 0);
  EXPECT_FALSE(std::filesystem::exists(run_directory() / "run.json")) << "rank 0 has no end yet";

  Program recover({joulescale(), "recover", run_directory().native()});
  ASSERT_EQ(recover.wait_status(), 0) << recover.err();
  const RunRecord run = record();
  EXPECT_THAT(run.flags, Contains("recovered"));
  EXPECT_FALSE(run.exit_status.has_value()) << "rank 0's is not known";
  ASSERT_EQ(run.ranks.size(), 2U);
  EXPECT_FALSE(run.ranks[0].exit_status.has_value());
  EXPECT_EQ(run.ranks[1].exit_status, 0);
  const double seconds = run.duration.value();
  EXPECT_GE(seconds, 3.5) << "both ranks' time";
  expect_energy(run.energy.components.at("gpu"), 1000.0 * seconds);
  expect_energy(run.energy.components.at("cpu"),
                SteadyPackage::kWatts * seconds,
                node_.package().late_joules());
  for (const SourceRecord& source : run.sources) {
    EXPECT_EQ(source.resets, 0U) << source.name;
  }
  EXPECT_THAT(lock_files(run.id), IsEmpty());
}

TEST_F(MonitorRanks, TheGpuOfARankThatEndsEarlyIsReadToTheEnd) {
  const RunRecord run = run_with_a_gpu_each("1", "5");
  EXPECT_GE(run.duration.value(), 4.9);
  EXPECT_EQ(run.devices.count, 2);
  const ComponentEnergy& gpu = run.energy.components.at("gpu");
  EXPECT_LT(gpu.uncertainty->value(), 0.1 * gpu.energy.value())
      << "that of a second of one GPU, not of four";
  EXPECT_THAT(run.flags, Not(Contains("devices_not_visible")));
  EXPECT_THAT(run.flags, Not(Contains("gap")));
  EXPECT_THAT(lock_files(run.id), IsEmpty());
}

TEST_F(MonitorRanks, TheGpuOfARankThatEndsJustBeforeIsReadOnceMoreAtTheEnd) {
  const RunRecord run = run_with_a_gpu_each("1.5", "1.65");
  const ComponentEnergy& gpu = run.energy.components.at("gpu");
  EXPECT_LT(gpu.uncertainty->value(), 0.15 * gpu.energy.value());
}

TEST_F(MonitorRanks, OfRanksThatFailTheFirstInTimeIsNamed) {
  const auto ended = start(0, 3, {"sleep", "30"});
  const auto failing = start(1, 3, {"sh", "-c", "sleep 1; exit 7"});
  const auto good = start(2, 3, {"sleep", "0.2"});
  EXPECT_EQ(failing->wait_status(), 7);
  ended->signal(SIGTERM);  // as a launcher does
  EXPECT_EQ(ended->wait_status(), -SIGTERM);
  EXPECT_EQ(good->wait_status(), 0);
  const RunRecord run = record();
  EXPECT_EQ(run.exit_status, 7);
  EXPECT_FALSE(run.signal);
  EXPECT_EQ(run.ranks.at(0).signal, SIGTERM);
}

TEST_F(MonitorRanks, ASurvivorSaysThatAMonitorWasKilled) {
  const auto killed = start(0, 2, {"sleep", "1"});
  wait_for_rank(0, 10s);
  std::vector<std::string> arguments = monitor(options(), {"sleep", "2"});
  std::erase(arguments, "--quiet");
  Program survivor(arguments, ProgramOptions{.environment = torchrun_rank(1, 2)});
  wait_for_rank(1, 10s);
  killed->signal(SIGKILL);
  killed->wait();
  EXPECT_EQ(survivor.wait_status(), 0);
  EXPECT_THAT(survivor.err(),
              AllOf(HasSubstr("the monitor of rank 0 was killed"),
                    HasSubstr("joulescale recover " + run_directory().native())));
}

TEST_F(MonitorRanks, ARankThatIsRegisteredIsRefused) {
  const auto first = start(0, 2, {"sleep", "1"});
  const auto other = start(1, 2, {"sleep", "1"});
  ASSERT_TRUE(first->wait_status() == 0 && other->wait_status() == 0);
  const auto again = start(1, 2, {"true"});
  EXPECT_EQ(again->wait_status(), 2);
  EXPECT_THAT(again->err(), HasSubstr("holds a launch that has ended"));
  EXPECT_EQ(record().ranks.size(), 2U);
}

TEST_F(MonitorRanks, RequiredComponentsMayBeReadByAnotherRank) {
  const auto first = start(0, 2, {"sleep", "1.5"});
  wait_for_rank(0, 10s);
  std::this_thread::sleep_for(300ms);
  std::vector<std::string> more = options();
  more.insert(more.end(), {"--require", "cpu,gpu"});
  Program second(monitor(more, {"true"}), ProgramOptions{.environment = torchrun_rank(1, 2)});
  EXPECT_EQ(second.wait_status(), 0) << second.err();
  EXPECT_EQ(first->wait_status(), 0);
}

TEST_F(MonitorRanks, RequiredComponentsThatNoRankHasStartNothing) {
  const std::string empty_root = (work_ / "root").native();
  std::filesystem::create_directory(empty_root);
  std::vector<std::unique_ptr<Program>> ranks;
  ranks.reserve(2);
  for (int rank = 0; rank < 2; ++rank) {
    ranks.push_back(std::make_unique<Program>(
        monitor({"--root", empty_root, "--nvml-library", "/dev/null", "--require", "gpu"},
                {"echo", "started"}),
        ProgramOptions{.environment = torchrun_rank(rank, 2)}));
  }
  for (const auto& rank : ranks) {
    EXPECT_EQ(rank->wait_status(), 3) << rank->err();
    EXPECT_EQ(rank->out(), "");
  }
}

TEST_F(MonitorRanks, ALaunchIdJoinsProcessesWithoutALauncher) {
  std::vector<std::string> more = options();
  more.insert(more.end(), {"--launch-id", "mine"});
  Program first(monitor(more, {"sleep", "2.5"}));
  wait_for_rank(0, 10s);
  Program second(monitor(more, {"sleep", "0.2"}));
  EXPECT_EQ(second.wait_status(), 0) << second.err();
  EXPECT_EQ(first.wait_status(), 0);
  const RunRecord run = record();
  EXPECT_EQ(run.ranks.size(), 2U);
  expect_energy(run.energy.components.at("gpu"), 1000.0 * run.duration.value());
}

}  // namespace
}  // namespace joulescale::testing
