// SPDX-License-Identifier: Apache-2.0
#include "joulescale/data/sampler.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>

#include <gmock/gmock.h>

namespace joulescale {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::vector<std::uint32_t> numbers(std::uint32_t count) {
  std::vector<std::uint32_t> all(count);
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

/// Positions that all ranks take in an epoch, and a check that ranks have equal step counts.
std::vector<std::uint32_t> all_positions(const BatchPlan& plan, int world_size) {
  std::vector<std::uint32_t> taken;
  std::vector<std::uint32_t> positions;
  for (std::int64_t update = 0; update < plan.updates_per_epoch(); ++update) {
    std::int64_t samples = 0;
    for (int step = 0; step < plan.micro_steps(update); ++step) {
      for (int rank = 0; rank < world_size; ++rank) {
        plan.micro_batch(update, step, rank, positions);
        samples += std::ssize(positions);
        taken.insert(taken.end(), positions.begin(), positions.end());
      }
    }
    EXPECT_EQ(samples, plan.update_samples(update));
  }
  return taken;
}

TEST(BatchPlan, EachSampleOnceOverRanksAndSteps) {
  for (const auto last_batch : {LastBatch::kDrop, LastBatch::kKeep}) {
    for (int world_size = 1; world_size <= 5; ++world_size) {
      for (const int accumulation : {1, 3}) {
        const auto plan = BatchPlan::create({.num_samples = 101,
                                             .world_size = world_size,
                                             .local_batch_size = 4,
                                             .accumulation_steps = accumulation,
                                             .last_batch = last_batch})
                              .value();
        auto taken = all_positions(plan, world_size);
        std::ranges::sort(taken);
        EXPECT_EQ(taken, numbers(static_cast<std::uint32_t>(plan.samples_per_epoch())));
      }
    }
  }
}

TEST(BatchPlan, StepsFollowFromTheTotal) {
  BatchPlanOptions options{.num_samples = 101, .world_size = 3, .local_batch_size = 8};
  const auto drop = BatchPlan::create(options).value();
  EXPECT_EQ(drop.updates_per_epoch(), 4);
  EXPECT_EQ(drop.samples_per_epoch(), 96);
  options.last_batch = LastBatch::kKeep;
  const auto keep = BatchPlan::create(options).value();
  EXPECT_EQ(keep.updates_per_epoch(), 5);
  EXPECT_EQ(keep.samples_per_epoch(), 101);
  EXPECT_EQ(keep.update_samples(4), 5);
  EXPECT_EQ(keep.micro_steps(4), 1);
}

TEST(BatchPlan, ManyRanksSeeTheBatchOfOne) {
  const auto one = BatchPlan::create({.num_samples = 64, .local_batch_size = 16}).value();
  const auto two =
      BatchPlan::create({.num_samples = 64, .world_size = 2, .local_batch_size = 8}).value();
  std::vector<std::uint32_t> whole;
  std::vector<std::uint32_t> part;
  one.micro_batch(2, 0, 0, whole);
  two.micro_batch(2, 0, 1, part);
  EXPECT_THAT(part, ElementsAre(33, 35, 37, 39, 41, 43, 45, 47));
  std::vector<std::uint32_t> other;
  two.micro_batch(2, 0, 0, other);
  part.insert(part.end(), other.begin(), other.end());
  std::ranges::sort(part);
  EXPECT_EQ(part, whole);
}

TEST(BatchPlan, BatchLargerThanTheDataIsRefused) {
  const auto plan =
      BatchPlan::create({.num_samples = 100, .world_size = 2, .local_batch_size = 64});
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(exit_status_of(plan.error()), 2);
  EXPECT_THAT(plan.error().text(), HasSubstr("128"));
}

TEST(EpochOrder, IsAPermutationBySeedAndEpoch) {
  const auto samples = numbers(1000);
  const auto first = epoch_order(samples, 7, 0);
  EXPECT_EQ(first, epoch_order(samples, 7, 0));
  EXPECT_NE(first, epoch_order(samples, 7, 1));
  EXPECT_NE(first, epoch_order(samples, 8, 0));
  EXPECT_EQ(std::set<std::uint32_t>(first.begin(), first.end()),
            std::set<std::uint32_t>(samples.begin(), samples.end()));
}

/// The mean position of each sample over many orders is the middle: no place is favoured.
TEST(EpochOrder, IsUnbiased) {
  constexpr int kOrders = 4000;
  const auto samples = numbers(8);
  std::array<double, 8> first_place{};
  for (int epoch = 0; epoch < kOrders; ++epoch) {
    first_place[epoch_order(samples, 1, epoch).front()] += 1.0;
  }
  for (const double count : first_place) {
    EXPECT_NEAR(count, kOrders / 8.0, 120.0);  // 5.7 standard deviations of 20.9
  }
}

TEST(StratifiedSubset, SharesClassesEvenly) {
  std::vector<std::uint8_t> labels(1000);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    labels[i] = static_cast<std::uint8_t>(i * 7 % 10);
  }
  const auto subset = stratified_subset(labels, 234, 3);
  EXPECT_THAT(subset, SizeIs(234));
  EXPECT_TRUE(std::ranges::is_sorted(subset));
  EXPECT_EQ(std::ranges::adjacent_find(subset), subset.end());
  std::map<int, int> counts;
  for (const auto sample : subset) {
    ++counts[labels[sample]];
  }
  for (const auto& [label, count] : counts) {
    EXPECT_EQ(count, label < 4 ? 24 : 23) << "class " << label;
  }
  EXPECT_EQ(subset, stratified_subset(labels, 234, 3));
  EXPECT_NE(subset, stratified_subset(labels, 234, 4));
  EXPECT_EQ(stratified_subset(labels, 1000, 3), numbers(1000));
}

TEST(StratifiedSubset, KeepsTheSharesOfUnequalClasses) {
  std::vector<std::uint8_t> labels(90, 0);
  labels.insert(labels.end(), 10, 1);
  const auto subset = stratified_subset(labels, 25, 1);  // 22.5 and 2.5: the lower class gets it
  EXPECT_EQ(std::ranges::count_if(subset, [&](auto sample) { return labels[sample] == 0; }), 23);
}

}  // namespace
}  // namespace joulescale
