// SPDX-License-Identifier: Apache-2.0
// joulescale monitor inside real launchers on this machine: Open MPI's mpirun, PyTorch's torchrun.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tests/integration/monitor/fake_node.h"
#include "tests/integration/monitor/monitor_harness.h"

namespace joulescale::testing {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;

bool works(const std::string& shell_line) {
  return std::system((shell_line + " >/dev/null 2>&1").c_str()) == 0;
}

class RealLaunchers : public MonitorTest {
 protected:
  /// The launcher's line, then a monitor that sees the one GPU of its local rank.
  std::vector<std::string> launch(std::vector<std::string> launcher,
                                  const std::string& local_rank,
                                  const std::vector<std::string>& command) const {
    launcher.insert(launcher.end(),
                    {"sh", "-c", "CUDA_VISIBLE_DEVICES=$" + local_rank + " exec \"$@\"", "rank"});
    const auto monitored = monitor(node_.monitor_options(), command);
    launcher.insert(launcher.end(), monitored.begin(), monitored.end());
    return launcher;
  }
  static std::vector<std::string> mpirun() {
    return {"mpirun",
            "--allow-run-as-root",
            "--oversubscribe",
            "--bind-to",
            "none",
            "--mca",
            "btl",
            "self,tcp",
            "-n",
            "4"};
  }
  void expect_four_gpus_each_once(const std::string& launcher) const {
    const RunRecord run = record();
    EXPECT_EQ(run.launch.launcher, launcher);
    EXPECT_EQ(run.devices.kind, "gpu");
    EXPECT_EQ(run.devices.count, 4);
    EXPECT_EQ(run.nodes.size(), 1U);
    ASSERT_EQ(run.ranks.size(), 4U);
    EXPECT_EQ(run.exit_status, 0);
    FakeNode::expect_gpus_of_ranks(run);
    EXPECT_NEAR(run.energy.components.at("cpu").energy.value(),
                SteadyPackage::kWatts * run.duration.value(),
                run.energy.components.at("cpu").uncertainty->value() + SteadyPackage::kWatts * 0.2 +
                    node_.package().late_joules());
    EXPECT_THAT(run.flags, Not(Contains("duplicate_source")));
    EXPECT_THAT(run.flags, Not(Contains("launcher_wrapped")));
    EXPECT_THAT(lock_files(run.id), IsEmpty());
  }

  FakeNode node_;
};

class Mpirun : public RealLaunchers {
 protected:
  void SetUp() override {
    if (!works("command -v mpirun")) {
      GTEST_SKIP() << "Skipped: openmpi-bin is not installed";
    }
  }
};

TEST_F(Mpirun, FourRanksAreOneRunWithFourGpusEachOnce) {
  Program job(launch(mpirun(), "OMPI_COMM_WORLD_LOCAL_RANK", {"sleep", "2"}));
  ASSERT_EQ(job.wait_status(), 0) << job.err();
  expect_four_gpus_each_once("mpi");
}

TEST_F(Mpirun, ASignalToItReachesEachCommandOnce) {
  Program job(
      launch(mpirun(), "OMPI_COMM_WORLD_LOCAL_RANK", {JOULESCALE_SIGNAL_COUNTER, "2", "0", "10"}));
  ASSERT_TRUE(job.wait_for_output("ready\nready\nready\nready\n")) << job.err();
  job.signal(SIGUSR1);  // 10; mpirun passes it on to its children
  EXPECT_EQ(job.wait_status(), 0) << job.err();
  std::size_t got = 0;
  const std::string out = job.out();
  for (std::size_t at = out.find("got 10"); at != std::string::npos;
       at = out.find("got 10", at + 1)) {
    ++got;
  }
  EXPECT_EQ(got, 4U) << out;
}

class Torchrun : public RealLaunchers {
 protected:
  /// Of an environment whose Python can import torch: .venv-torch/ (made by ./soak), else the
  /// user's own.
  static std::string torchrun() {
    const std::string own = JOULESCALE_SOURCE_DIR "/.venv-torch/bin/";
    if (works(own + "python -c 'import torch.distributed.run'")) {
      return own + "torchrun";
    }
    if (works("torchrun --help && python3 -c 'import torch.distributed.run'")) {
      return "torchrun";
    }
    return "";
  }
};

TEST_F(Torchrun, FourRanksAreOneRunWithFourGpusEachOnce) {
  const std::string program = torchrun();
  if (program.empty()) {
    GTEST_SKIP() << "Skipped: no torchrun whose Python can import torch";
  }
  Program job(launch({program,
                      "--nproc-per-node",
                      "4",
                      "--rdzv-backend",
                      "c10d",
                      "--rdzv-endpoint",
                      "localhost:0",
                      "--no-python"},
                     "LOCAL_RANK",
                     {"sleep", "2"}));
  ASSERT_EQ(job.wait_status(), 0) << job.err();
  expect_four_gpus_each_once("torchrun");
}

}  // namespace
}  // namespace joulescale::testing
