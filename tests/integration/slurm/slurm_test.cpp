// SPDX-License-Identifier: Apache-2.0
// joulescale monitor inside srun, on a real Slurm cluster of two nodes on loopback.
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
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
using ::testing::IsEmpty;
using ::testing::Not;

bool is_installed(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

class SlurmCluster : public MonitorTest {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) {
      GTEST_SKIP() << "Skipped: a Slurm cluster needs root";
    }
    if (!is_installed("slurmctld") || !is_installed("slurmd") || !is_installed("munged")) {
      GTEST_SKIP() << "Skipped: slurm-wlm or munge is not installed";
    }
    Program start({JOULESCALE_SLURM_CLUSTER, "start", cluster_directory()});
    started_ = true;
    ASSERT_EQ(start.wait_status(), 0) << start.err();
  }
  void TearDown() override {
    if (started_) {
      Program stop({JOULESCALE_SLURM_CLUSTER, "stop", cluster_directory()});
      EXPECT_EQ(stop.wait_status(), 0) << stop.err();
    }
  }

  std::string cluster_directory() const { return cluster_.path().native(); }
  ProgramOptions in_cluster() const {
    return {.environment = {{"SLURM_CONF", cluster_directory() + "/slurm.conf"}}};
  }

  /// "srun <srun's options> joulescale monitor <options> -- <command>".
  std::vector<std::string> srun(const std::vector<std::string>& srun_options,
                                const std::vector<std::string>& command) const {
    std::vector<std::string> arguments = {"srun"};
    arguments.insert(arguments.end(), srun_options.begin(), srun_options.end());
    const auto monitored = monitor(node_.monitor_options(), command);
    // Each task sees one GPU, as --gpus-per-task does it.
    arguments.insert(arguments.end(),
                     {"sh", "-c", "CUDA_VISIBLE_DEVICES=$SLURM_PROCID exec \"$@\"", "task"});
    arguments.insert(arguments.end(), monitored.begin(), monitored.end());
    return arguments;
  }

  TempDir cluster_;
  bool started_ = false;
  FakeNode node_;  // both nodes read it: the same power on each
};

TEST_F(SlurmCluster, FourRanksOnTwoNodesAreTwoNodeTotalsAndOneJobTotal) {
  Program job(srun({"-N2", "-n4", "--ntasks-per-node=2"}, {"sleep", "2"}), in_cluster());
  ASSERT_EQ(job.wait_status(), 0) << job.err();
  const RunRecord run = record();
  EXPECT_EQ(run.launch.launcher, "slurm");
  ASSERT_TRUE(run.scheduler.has_value());
  ASSERT_EQ(run.ranks.size(), 4U);
  ASSERT_EQ(run.nodes.size(), 2U);
  EXPECT_EQ(run.exit_status, 0);
  EXPECT_EQ(run.devices.kind, "gpu");
  EXPECT_EQ(run.devices.count, 4);
  FakeNode::expect_gpus_of_ranks(run);
  Joules sum;
  for (const NodeRecord& node : run.nodes) {
    const ComponentEnergy& cpu = node.components.at("cpu");
    EXPECT_NEAR(
        cpu.energy.value(),
        SteadyPackage::kWatts * run.duration.value(),
        cpu.uncertainty->value() + SteadyPackage::kWatts * 0.2 + node_.package().late_joules());
    sum += *node.energy;
  }
  EXPECT_DOUBLE_EQ(run.energy.total->value(), sum.value());
  EXPECT_THAT(run.flags, Not(Contains("duplicate_source")));
  EXPECT_THAT(lock_files(run.id), IsEmpty());
}

TEST_F(SlurmCluster, ASignalByScancelReachesEachCommandOnce) {
  const std::string command =
      "trap 'echo got' USR1; echo ready; i=0; while [ $i -lt 40 ]; do sleep 0.1; i=$((i+1)); done";
  Program job(srun({"-N2", "-n2", "--job-name=counted"}, {"sh", "-c", command}), in_cluster());
  ASSERT_TRUE(job.wait_for_output("ready\nready\n"));
  Program signal({"sh", "-c", "scancel -s USR1 $(squeue -h -n counted -o %i)"}, in_cluster());
  ASSERT_EQ(signal.wait_status(), 0) << signal.err();
  EXPECT_EQ(job.wait_status(), 0) << job.err();
  const std::string out = job.out();
  std::size_t got = 0;
  for (std::size_t at = out.find("got"); at != std::string::npos; at = out.find("got", at + 1)) {
    ++got;
  }
  EXPECT_EQ(got, 2U) << out;
}

TEST_F(SlurmCluster, ACancelledJobLeavesItsRecord) {
  // Slurm signals every process of the job, one after another: a shell whose sleep goes first ends
  // with status 143 by itself, so the command is one process only.
  Program job(
      srun({"-N2", "-n2", "--job-name=cancelled"}, {"sh", "-c", "echo ready; exec sleep 60"}),
      in_cluster());
  ASSERT_TRUE(job.wait_for_output("ready\nready\n"));
  std::this_thread::sleep_for(1s);
  Program cancel({"sh", "-c", "scancel $(squeue -h -n cancelled -o %i)"}, in_cluster());
  ASSERT_EQ(cancel.wait_status(), 0) << cancel.err();
  EXPECT_NE(job.wait_status(), 0);
  EXPECT_TRUE(wait_for_file("run.json", 10s));
  const RunRecord run = record();
  EXPECT_EQ(run.signal, SIGTERM);
  EXPECT_EQ(run.ranks.size(), 2U);
  EXPECT_GE(run.duration.value(), 0.9);
  EXPECT_GT(run.energy.total->value(), 2 * 0.9 * SteadyPackage::kWatts);
}

/// A batch script that becomes the monitor, so that what Slurm sends to the batch shell alone
/// (--signal=B:) comes to it alone.
class BatchJob : public SlurmCluster {
 protected:
  /// Submits `joulescale monitor -- <command>`; returns the job's number.
  std::string submit(const std::vector<std::string>& options,
                     const std::vector<std::string>& command) const {
    std::ofstream script(work_ / "job.sh");
    script << "#!/bin/sh\nexec";
    for (const std::string& word : monitor(node_.monitor_options(), command)) {
      script << " '" << word << "'";
    }
    script << "\n";
    script.close();
    std::vector<std::string> line = {"sbatch", "--parsable", "--output", out_file().native()};
    line.insert(line.end(), options.begin(), options.end());
    line.push_back((work_ / "job.sh").native());
    Program sbatch(line, in_cluster());
    EXPECT_EQ(sbatch.wait_status(), 0) << sbatch.err();
    return sbatch.out().substr(0, sbatch.out().find_first_not_of("0123456789"));
  }
  std::filesystem::path out_file() const { return work_ / "job.out"; }
  std::string out() const {
    std::ifstream file(out_file());
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  bool wait_for(const std::string& text, std::chrono::seconds patience = 30s) const {
    for (auto waited = 0ms; waited < patience; waited += 50ms) {
      if (out().find(text) != std::string::npos) {
        return true;
      }
      std::this_thread::sleep_for(50ms);
    }
    return false;
  }
  void scancel(const std::vector<std::string>& arguments) const {
    std::vector<std::string> line = {"scancel"};
    line.insert(line.end(), arguments.begin(), arguments.end());
    Program program(line, in_cluster());
    EXPECT_EQ(program.wait_status(), 0) << program.err();
  }
  void expect_once(const std::string& word) const {
    const std::string text = out();
    const std::size_t first = text.find(word);
    EXPECT_NE(first, std::string::npos) << text;
    EXPECT_EQ(text.find(word, first + 1), std::string::npos) << text;
  }
  /// The command tidied up for a second after its SIGTERM, and ended with status 6.
  void expect_whole_record() const {
    EXPECT_TRUE(wait_for_file("run.json", 5s));
    const RunRecord run = record();
    EXPECT_EQ(run.exit_status, 6);
    EXPECT_THAT(run.flags, Not(Contains("recovered")));
    expect_energy(run.energy.components.at("cpu"),
                  SteadyPackage::kWatts * run.duration.value(),
                  node_.package().late_joules() + 0.05 * SteadyPackage::kWatts);
  }
  static std::vector<std::string> counter() {
    return {JOULESCALE_SIGNAL_COUNTER, "-1", "6", "10", "15"};  // USR1, TERM
  }
};

TEST_F(BatchJob, SignalsToTheBatchShellAloneAndToAllArriveOnce) {
  const std::string job = submit({}, counter());
  ASSERT_TRUE(wait_for("ready"));
  scancel({"--batch", "--signal=USR1", job});  // as --signal=B:USR1@... does
  ASSERT_TRUE(wait_for("got 10"));
  std::this_thread::sleep_for(300ms);
  expect_once("got 10");
  scancel({"--full", "--signal=USR1", job});
  std::this_thread::sleep_for(800ms);
  scancel({job});  // SIGTERM to all, SIGKILL after KillWait
  ASSERT_TRUE(wait_for("end"));
  expect_once("got 15");
  const std::string text = out();
  EXPECT_EQ(text.find("got 10", text.find("got 10") + 1), text.rfind("got 10")) << text;
  EXPECT_NE(text.find("got 10"), text.rfind("got 10")) << "the second one: " << text;
  expect_whole_record();
}

class TimeLimit : public BatchJob {
 protected:
  void SetUp() override {
    if (std::getenv("JOULESCALE_SOAK") == nullptr) {
      GTEST_SKIP() << "Skipped: Slurm's shortest time limit is a minute; part of ./soak";
    }
    BatchJob::SetUp();
  }
};

TEST_F(TimeLimit, LeavesEverythingOnDisk) {
  submit({"--time=1", "--signal=B:USR1@30"}, counter());
  ASSERT_TRUE(wait_for("ready"));
  ASSERT_TRUE(wait_for("got 10", 120s));
  ASSERT_TRUE(wait_for("end", 120s)) << out();
  expect_once("got 10");
  expect_once("got 15");
  expect_whole_record();
}

TEST_F(SlurmCluster, TwoStepsOfAJobAreTwoLaunches) {
  const auto default_directory = [&](const std::vector<std::string>& arguments) {
    std::vector<std::string> without;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i] == "--output") {
        ++i;
      } else {
        without.push_back(arguments[i]);
      }
    }
    return without;
  };
  for (int step = 0; step < 2; ++step) {
    ProgramOptions options = in_cluster();
    options.directory = work_.path();
    Program job(default_directory(srun({"-N2", "-n2"}, {"true"})), options);
    ASSERT_EQ(job.wait_status(), 0) << job.err();
  }
  std::size_t launches = 0;
  for (const auto& entry : std::filesystem::directory_iterator(work_ / "joulescale-runs")) {
    EXPECT_TRUE(std::filesystem::exists(entry.path() / "run.json")) << entry.path();
    ++launches;
  }
  EXPECT_EQ(launches, 2U);
}

}  // namespace
}  // namespace joulescale::testing
