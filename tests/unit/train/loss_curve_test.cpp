// SPDX-License-Identifier: Apache-2.0
#include "joulescale/train/loss_curve.h"

#include <array>
#include <limits>

#include <gtest/gtest.h>

#include "joulescale/train/progress.h"

namespace joulescale {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(LossCurve, NumbersReadBackAlikeAndNanIsEmpty) {
  const std::array<CurvePoint, 2> curve = {
      {{.epoch = 0, .update = 0, .samples = 64, .learning_rate = 0.1, .loss = 0.1 + 0.2},
       {.epoch = 0, .update = 1, .samples = 64, .learning_rate = 1e-9, .loss = kNan}}};
  EXPECT_EQ(format_loss_curve(curve),
            "epoch,update,samples,learning_rate,loss\n"
            "0,0,64,0.1,0.30000000000000004\n"
            "0,1,64,1e-09,\n");
}

TEST(LossCurve, MeanWeighsSamples) {
  const std::array<CurvePoint, 4> curve = {{{.epoch = 0, .samples = 256, .loss = 5.0},
                                            {.epoch = 1, .samples = 256, .loss = 0.7},
                                            {.epoch = 1, .samples = 256, .loss = 0.8},
                                            {.epoch = 1, .samples = 10, .loss = 0.9}}};
  EXPECT_NEAR(mean_loss(curve, 1).value(), 0.75287, 1e-5);
  EXPECT_FALSE(mean_loss(curve, 2).has_value());
  EXPECT_FALSE(diverged_at(curve).has_value());
}

TEST(LossCurve, DivergenceIsFoundAndHasNoMean) {
  const std::array<CurvePoint, 2> curve = {
      {{.update = 6, .samples = 1, .loss = 1.0},
       {.update = 7, .samples = 1, .loss = std::numeric_limits<double>::infinity()}}};
  EXPECT_EQ(diverged_at(curve), 7);
  EXPECT_FALSE(mean_loss(curve, 0).has_value());
}

TEST(TrainingProgress, LineHasRateAndTimeLeft) {
  EXPECT_EQ(TrainingProgress::line(50, 200, 3200, 0.61251, std::chrono::seconds(4)),
            "update 50/200  25 %  800 images/s  loss 0.613  12 s left");
  EXPECT_EQ(TrainingProgress::line(1, 3601, 64, 2.3, std::chrono::seconds(2)),
            "update 1/3601  0 %  32 images/s  loss 2.300  2 h 00 min left");
}

}  // namespace
}  // namespace joulescale
