// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/launcher.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace joulescale {
namespace {

using ::testing::HasSubstr;

/// Of an environment that has no error.
std::optional<LauncherRank> rank_of(const EnvironmentMap& environment) {
  auto found = detect_launcher(environment);
  EXPECT_TRUE(found) << found.error().text();
  return found ? std::move(found).value() : std::nullopt;
}

EnvironmentMap with(EnvironmentMap environment, const EnvironmentMap& more) {
  environment.insert(more.begin(), more.end());
  return environment;
}

const EnvironmentMap kTorchrun = {{"RANK", "1"},
                                  {"WORLD_SIZE", "2"},
                                  {"LOCAL_RANK", "1"},
                                  {"TORCHELASTIC_RUN_ID", "none"},
                                  {"TORCHELASTIC_RESTART_COUNT", "0"},
                                  {"MASTER_ADDR", "127.0.0.1"},
                                  {"MASTER_PORT", "29500"}};
const EnvironmentMap kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "3"},
                                 {"OMPI_COMM_WORLD_SIZE", "4"},
                                 {"PMIX_RANK", "3"},
                                 {"PMIX_NAMESPACE", "1769537537"}};
const EnvironmentMap kStep = {{"SLURM_JOB_ID", "77"},
                              {"SLURM_STEP_ID", "0"},
                              {"SLURM_PROCID", "3"},
                              {"SLURM_NTASKS", "9"},
                              {"SLURM_STEP_NUM_TASKS", "4"}};
const EnvironmentMap kHydra = {{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}};

struct Case {
  const char* what;
  EnvironmentMap environment;
  const char* launcher;
  int rank;
  int world_size;
  const char* key;
};

TEST(Launcher, RankWorldSizeAndKeyOfEachLauncher) {
  const std::vector<Case> cases = {
      {"torchrun", kTorchrun, "torchrun", 1, 2, "torchrun-none:127.0.0.1:29500"},
      {"torchrun after a restart of its ranks",
       with({{"TORCHELASTIC_RESTART_COUNT", "1"}}, kTorchrun),
       "torchrun",
       1,
       2,
       "torchrun-none:127.0.0.1:29500:attempt-2"},
      {"torchrun in a Slurm step: the inner one counts",
       with(kTorchrun, kStep),
       "torchrun",
       1,
       2,
       "torchrun-none:127.0.0.1:29500:slurm-77"},
      {"Open MPI", kOpenMpi, "mpi", 3, 4, "mpi-1769537537"},
      {"Open MPI in a Slurm job, started from the batch script",
       with(kOpenMpi, {{"SLURM_JOB_ID", "77"}, {"SLURM_PROCID", "0"}}),
       "mpi",
       3,
       4,
       "mpi-1769537537:slurm-77"},
      {"a Slurm step", kStep, "slurm", 3, 4, "slurm-77:step-0"},
      {"a Slurm step with PMIx",
       with(kStep, {{"PMIX_RANK", "3"}, {"PMIX_NAMESPACE", "slurm.pmix.77.0"}}),
       "mpi",
       3,
       4,
       "mpi-slurm.pmix.77.0:slurm-77"},
      {"a requeued Slurm job",
       with(kStep, {{"SLURM_RESTART_COUNT", "2"}}),
       "slurm",
       3,
       4,
       "slurm-77:attempt-3:step-0"},
      {"plain Hydra tells no job", kHydra, "unknown", 0, 2, ""},
      {"a rank by hand", {{"RANK", "0"}, {"WORLD_SIZE", "1"}}, "unknown", 0, 1, ""},
  };
  for (const Case& expected : cases) {
    const auto found = rank_of(expected.environment);
    ASSERT_TRUE(found.has_value()) << expected.what;
    EXPECT_EQ(found->launcher, expected.launcher) << expected.what;
    EXPECT_EQ(found->rank, expected.rank) << expected.what;
    EXPECT_EQ(found->world_size, expected.world_size) << expected.what;
    EXPECT_EQ(found->key, expected.key) << expected.what;
  }
}

TEST(Launcher, OfTwoThatAreNestedTheInnerOneCounts) {
  EnvironmentMap environment = {{"RANK", "1"},
                                {"WORLD_SIZE", "2"},
                                {"JOULESCALE_LAUNCH_ID", "7-8"},
                                {"TORCHELASTIC_RUN_ID", ""},
                                {"SLURM_JOB_ID", "5"},
                                {"SLURM_STEP_ID", "0"}};
  EXPECT_EQ(rank_of(environment)->launcher, "joulescale");
  EXPECT_EQ(rank_of(environment)->key, "launch-7-8:slurm-5");
  environment["TORCHELASTIC_RUN_ID"] = "r";
  EXPECT_EQ(rank_of(environment)->launcher, "torchrun");
}

TEST(Launcher, ProcessesThatAreNoRanks) {
  EXPECT_FALSE(rank_of({}));
  EXPECT_FALSE(rank_of({{"SLURM_JOB_ID", "7"}, {"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}}))
      << "a batch script";
  EXPECT_FALSE(rank_of({{"RANK", ""}, {"WORLD_SIZE", "2"}})) << "a batch script's WORLD_SIZE";
}

TEST(Launcher, ARankThatIsNoneIsAnErrorNotARunOfItsOwn) {
  for (const char* wrong : {"many", "-1", "2", "99999999999999999999", "\xff"}) {
    const auto found = detect_launcher({{"RANK", wrong}, {"WORLD_SIZE", "2"}});
    ASSERT_FALSE(found) << wrong;
    EXPECT_EQ(found.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(found.error().text(), HasSubstr("is no rank of WORLD_SIZE='2'"));
  }
  EXPECT_FALSE(detect_launcher({{"RANK", "0"}, {"WORLD_SIZE", "few"}}));
  const auto slurm = detect_launcher(with({{"SLURM_PROCID", "9"}}, kStep));
  ASSERT_FALSE(slurm);
  EXPECT_THAT(slurm.error().text(), HasSubstr("SLURM_PROCID='9' is no rank of SLURM_STEP_NUM_"));
  const auto alone = detect_launcher({{"RANK", "1"}});
  ASSERT_FALSE(alone);
  EXPECT_THAT(alone.error().text(), HasSubstr("WORLD_SIZE is not"));
  EXPECT_EQ(rank_of(with({{"RANK", "1"}}, kStep))->rank, 3) << "Slurm tells both";
}

TEST(Launcher, KnowsCommandsThatAreLaunchers) {
  using Command = std::vector<std::string>;
  for (const Command& launcher :
       {Command{"/usr/bin/srun", "-N2", "x"},
        Command{"mpirun", "x"},
        Command{"torchrun", "--nnodes=2", "x"},
        Command{"python", "-m", "torch.distributed.run", "--nnodes", "2"}}) {
    EXPECT_TRUE(is_wrapped_launcher(launcher)) << launcher.front();
  }
  for (const Command& other : {Command{"torchrun", "--nproc-per-node=2", "x"},
                               Command{"torchrun", "--nnodes", "1", "x"},
                               Command{"python", "train.py"},
                               Command{}}) {
    EXPECT_FALSE(is_wrapped_launcher(other));
  }
}

}  // namespace
}  // namespace joulescale
