// SPDX-License-Identifier: Apache-2.0
// Gradients and evaluation do not depend on how samples are shared among ranks and micro-steps.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/ranks/rank_process.h"
#include "tests/support/idx_files.h"
#include "tests/support/temp_dir.h"

namespace joulescale {
namespace {

constexpr auto kLimit = std::chrono::seconds(60);

struct Outcome {
  std::string counts;
  std::vector<double> gradients;
};

class Gradients : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory_ = new testing::TempDir;
    testing::write_image_dataset(directory_->path(), 40, 101);
    one_rank_ = new Outcome(run(1, 16, 1));
  }
  static void TearDownTestSuite() {
    delete one_rank_;
    delete directory_;
  }

  static Outcome run(int world_size, int local_batch, int accumulation) {
    const auto output = *directory_ / "gradients";
    auto ranks = testing::start_ranks(world_size,
                                      {JOULESCALE_GRADIENT_RANK,
                                       directory_->path(),
                                       std::to_string(local_batch),
                                       std::to_string(accumulation),
                                       output},
                                      *directory_ / "log");
    for (auto& rank : ranks) {
      EXPECT_EQ(rank.wait(kLimit), 0) << rank.err();
    }
    std::istringstream lines(testing::text_of(output));
    Outcome outcome;
    std::getline(lines, outcome.counts);
    double value = 0.0;
    while (lines >> value) {
      outcome.gradients.push_back(value);
    }
    return outcome;
  }

  /// Largest difference, relative to the largest gradient: sums of floats in another order.
  static double difference(const Outcome& a, const Outcome& b) {
    EXPECT_EQ(a.gradients.size(), b.gradients.size());
    double largest = 0.0;
    double difference = 0.0;
    for (std::size_t i = 0; i < std::min(a.gradients.size(), b.gradients.size()); ++i) {
      largest = std::max(largest, std::abs(a.gradients[i]));
      difference = std::max(difference, std::abs(a.gradients[i] - b.gradients[i]));
    }
    EXPECT_GT(largest, 1e-3);
    return difference / largest;
  }

  /// 2^-24 is float's rounding; a gradient here sums some 1e4 products.
  static constexpr double kTolerance = 2e-6;

  static inline testing::TempDir* directory_ = nullptr;
  static inline Outcome* one_rank_ = nullptr;
};

TEST_F(Gradients, TwoRanksGiveThoseOfOneWithTwiceTheBatch) {
  EXPECT_EQ(one_rank_->gradients.size(), 2U * (75'290 - 288));
  const Outcome two = run(2, 8, 1);
  EXPECT_LT(difference(*one_rank_, two), kTolerance);
  EXPECT_EQ(two.counts, one_rank_->counts);
}

/// The last update has 8 samples: with 3 ranks 3, 3 and 2; so ranks must weigh by samples.
TEST_F(Gradients, UnequalSharesWeighBySamples) {
  const Outcome one = run(1, 12, 1);
  const Outcome three = run(3, 4, 1);
  EXPECT_LT(difference(one, three), kTolerance);
  EXPECT_EQ(three.counts, one_rank_->counts);
}

TEST_F(Gradients, AccumulationGivesTheSame) {
  EXPECT_LT(difference(*one_rank_, run(2, 2, 4)), kTolerance);
}

TEST_F(Gradients, EvaluationCountsEachSampleOnce) {
  EXPECT_EQ(one_rank_->counts.substr(0, 4), "101 ");
}

}  // namespace
}  // namespace joulescale
