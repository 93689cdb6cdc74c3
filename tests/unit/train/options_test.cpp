// SPDX-License-Identifier: Apache-2.0
#include "joulescale/train/options.h"

#include <limits>
#include <string>

#include <gmock/gmock.h>

#include "tests/support/idx_files.h"
#include "tests/support/temp_dir.h"

namespace joulescale {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class PlanTraining : public ::testing::Test {
 protected:
  PlanTraining() {
    testing::write_image_dataset(directory_.path(), 10, 10);
    reset();
  }

  void reset() {
    options_ = TrainOptions();
    options_.data_dir = directory_.path();
  }

  /// The one line that a wrong option earns.
  std::string error(int world_size = 1) {
    const auto plan = plan_training(options_, world_size, 1000);
    if (plan) {
      return "no error";
    }
    EXPECT_EQ(exit_status_of(plan.error()), 2);
    EXPECT_EQ(plan.error().text().find('\n'), std::string::npos);
    return plan.error().text();
  }

  testing::TempDir directory_;
  TrainOptions options_;
};

TEST_F(PlanTraining, WorksOutTheRun) {
  options_.train_samples = 900;
  options_.local_batch_size = 32;
  options_.accumulation_steps = 2;
  options_.global_batch_size = 128;
  options_.epochs = 3;
  options_.learning_rate_reference_batch = 64;
  const auto plan = plan_training(options_, 2, 1000).value();
  EXPECT_EQ(plan.global_batch_size, 128);
  EXPECT_EQ(plan.updates, 21);
  EXPECT_EQ(plan.samples, 7 * 128 * 3);
  EXPECT_DOUBLE_EQ(plan.schedule.peak, 0.2);
  EXPECT_EQ(plan.schedule.updates, 21);
}

TEST_F(PlanTraining, GlobalBatchMustAgreeAndTheLineShowsTheArithmetic) {
  options_.local_batch_size = 32;
  options_.global_batch_size = 100;
  EXPECT_THAT(error(2), AllOf(HasSubstr("--global-batch-size 100"), HasSubstr("32 x 2 x 1 = 64")));
}

TEST_F(PlanTraining, ImpossibleNumbersAreRefused) {
  options_.epochs = 0;
  EXPECT_THAT(error(), HasSubstr("--epochs 0"));
  options_.epochs = 1;
  options_.local_batch_size = -3;
  EXPECT_THAT(error(), HasSubstr("--local-batch-size -3"));
  options_.local_batch_size = 1'000'000'000;
  options_.accumulation_steps = 1'000'000'000;
  EXPECT_THAT(error(2), HasSubstr("more than"));
  reset();
  options_.learning_rate = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(error(), HasSubstr("--learning-rate nan"));
  options_.learning_rate = 0.1;
  options_.warmup_fraction = 1.5;
  EXPECT_THAT(error(), HasSubstr("--warmup-fraction 1.5"));
}

TEST_F(PlanTraining, UnknownNamesAreRefused) {
  options_.model = "resnet9";
  EXPECT_THAT(error(), HasSubstr("did you mean resnet8?"));
  reset();
  options_.schedule = "step";
  EXPECT_THAT(error(), HasSubstr("must be one of constant, cosine, one-cycle"));
  reset();
  options_.augment = "flop";
  EXPECT_THAT(error(), HasSubstr("--augment"));
  reset();
  options_.dataset = "imagenet";
  EXPECT_THAT(error(), HasSubstr("--dataset"));
}

TEST_F(PlanTraining, DataMustBeThereAndSuffice) {
  options_.train_samples = 1001;
  EXPECT_THAT(error(), HasSubstr("has only 1000"));
  options_.train_samples = 60;
  EXPECT_THAT(error(), HasSubstr("global batch of 64"));
  options_.data_dir = directory_ / "absent";
  EXPECT_THAT(error(), HasSubstr("absent"));
}

TEST_F(PlanTraining, CurveMustBeWritable) {
  options_.curve = directory_ / "no/such/directory.csv";
  EXPECT_THAT(error(), HasSubstr("--curve"));
  options_.curve = directory_.path();
  EXPECT_THAT(error(), HasSubstr("--curve"));
}

TEST_F(PlanTraining, SharedTextDiffersWhereRanksMustAgree) {
  TrainOptions other = options_;
  other.quiet = true;
  other.data_dir = "/elsewhere";
  EXPECT_EQ(shared_options_text(options_), shared_options_text(other));
  other.seed = 5;
  EXPECT_NE(shared_options_text(options_), shared_options_text(other));
}

}  // namespace
}  // namespace joulescale
