// SPDX-License-Identifier: Apache-2.0
#include "joulescale/parallel/rendezvous.h"

#include <map>
#include <string>
#include <utility>

#include <gmock/gmock.h>

namespace joulescale {
namespace {

using ::testing::HasSubstr;

using Variables = std::map<std::string, std::string, std::less<>>;

Result<RankEnvironment> read(Variables variables) {
  return rank_environment([variables = std::move(variables)](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

std::string error_of(Variables variables) {
  const auto ranks = read(std::move(variables));
  return ranks ? "no error" : ranks.error().text();
}

TEST(Rendezvous, WithoutVariablesThereIsOneRank) {
  const auto ranks = read({}).value();
  EXPECT_EQ(ranks.world_size, 1);
  EXPECT_EQ(ranks.rank, 0);
  EXPECT_EQ(ranks.launcher, "none");
}

TEST(Rendezvous, ReadsTorchrun) {
  const auto ranks = read({{"RANK", "3"},
                           {"WORLD_SIZE", "4"},
                           {"LOCAL_RANK", "1"},
                           {"MASTER_ADDR", "node7"},
                           {"MASTER_PORT", "29500"},
                           {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                           {"TORCHELASTIC_RESTART_COUNT", "2"}})
                         .value();
  EXPECT_EQ(ranks.launcher, "torchrun");
  EXPECT_EQ(ranks.rank, 3);
  EXPECT_EQ(ranks.world_size, 4);
  EXPECT_EQ(ranks.local_rank, 1);
  EXPECT_EQ(ranks.master_address, "node7");
  EXPECT_EQ(ranks.master_port, 29500);
  EXPECT_TRUE(ranks.store_is_served);
  EXPECT_THAT(ranks.store_prefix, HasSubstr("2"));
}

TEST(Rendezvous, ReadsOpenMpi) {
  const auto ranks = read({{"OMPI_COMM_WORLD_RANK", "1"},
                           {"OMPI_COMM_WORLD_SIZE", "2"},
                           {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                           {"MASTER_ADDR", "127.0.0.1"},
                           {"MASTER_PORT", "4000"}})
                         .value();
  EXPECT_EQ(ranks.launcher, "openmpi");
  EXPECT_EQ(ranks.rank, 1);
  EXPECT_EQ(ranks.world_size, 2);
  EXPECT_FALSE(ranks.store_is_served);
}

TEST(Rendezvous, SlurmCountsOnlyWithAMaster) {
  const Variables slurm = {{"SLURM_PROCID", "2"}, {"SLURM_NTASKS", "8"}, {"SLURM_LOCALID", "0"}};
  EXPECT_EQ(read(slurm).value().world_size, 1);
  Variables with_master = slurm;
  with_master.merge(Variables{{"MASTER_ADDR", "n1"}, {"MASTER_PORT", "4000"}});
  const auto ranks = read(with_master).value();
  EXPECT_EQ(ranks.world_size, 8);
  EXPECT_EQ(ranks.rank, 2);
}

TEST(Rendezvous, OneRankNeedsNoMaster) {
  EXPECT_EQ(read({{"RANK", "0"}, {"WORLD_SIZE", "1"}}).value().world_size, 1);
}

TEST(Rendezvous, ErrorsNameTheVariable) {
  EXPECT_THAT(error_of({{"RANK", "0"}}), HasSubstr("WORLD_SIZE is not set"));
  EXPECT_THAT(error_of({{"RANK", "2"}, {"WORLD_SIZE", "2"}}), HasSubstr("RANK='2'"));
  EXPECT_THAT(error_of({{"RANK", "0"}, {"WORLD_SIZE", "two"}}), HasSubstr("WORLD_SIZE='two'"));
  EXPECT_THAT(error_of({{"RANK", "0"}, {"WORLD_SIZE", "2"}}), HasSubstr("MASTER_ADDR"));
  EXPECT_THAT(
      error_of(
          {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "70000"}}),
      HasSubstr("MASTER_PORT='70000'"));
}

TEST(Rendezvous, KnowsLoopbackNames) {
  EXPECT_TRUE(is_loopback("localhost"));
  EXPECT_TRUE(is_loopback("127.0.1.1"));
  EXPECT_FALSE(is_loopback("10.0.0.1"));
  EXPECT_FALSE(is_loopback("node1"));
}

}  // namespace
}  // namespace joulescale
