// SPDX-License-Identifier: Apache-2.0
#include "joulescale/data/image_batch.h"

#include <cmath>
#include <set>
#include <utility>

#include <gmock/gmock.h>

namespace joulescale {
namespace {

using ::testing::ElementsAre;

ImageDataset small_dataset() {
  return {.height = 2, .width = 3, .channels = 1, .pixels = {1, 2, 3, 4, 5, 6}, .labels = {0}};
}

/// The batch with normalisation undone: pixel values again.
std::vector<int> pixels_of(const ImageDataset& dataset, const AugmentationDraw& draw) {
  const auto normalization = Normalization::of(dataset);
  std::vector<float> out(dataset.image_bytes());
  const std::uint32_t sample = 0;
  write_image_batch(dataset, normalization, {&sample, 1}, {&draw, 1}, out);
  std::vector<int> pixels;
  pixels.reserve(out.size());
  for (const float value : out) {
    pixels.push_back(static_cast<int>(
        std::lround(255.0 * (value * normalization.deviation(0) + normalization.mean(0)))));
  }
  return pixels;
}

TEST(Normalization, BringsTheDataSetToMean0AndDeviation1) {
  ImageDataset dataset = small_dataset();
  dataset.pixels = {0, 0, 0, 255, 255, 255};
  const auto normalization = Normalization::of(dataset);
  EXPECT_DOUBLE_EQ(normalization.mean(0), 0.5);
  EXPECT_DOUBLE_EQ(normalization.deviation(0), 0.5);
  EXPECT_FLOAT_EQ(normalization.value(0, 0), -1.0F);
  EXPECT_FLOAT_EQ(normalization.value(0, 255), 1.0F);
}

TEST(Normalization, UniformImagesStayFinite) {
  ImageDataset dataset = small_dataset();
  dataset.pixels.assign(6, 9);
  EXPECT_FLOAT_EQ(Normalization::of(dataset).value(0, 9), 0.0F);
}

TEST(ImageBatch, FlipsAndShifts) {
  const auto dataset = small_dataset();
  EXPECT_THAT(pixels_of(dataset, {}), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(pixels_of(dataset, {.flip = true}), ElementsAre(3, 2, 1, 6, 5, 4));
  EXPECT_THAT(pixels_of(dataset, {.shift_rows = 1, .shift_columns = -1}),
              ElementsAre(0, 4, 5, 0, 0, 0));
  EXPECT_THAT(pixels_of(dataset, {.flip = true, .shift_columns = 1}),
              ElementsAre(0, 3, 2, 0, 6, 5));
}

TEST(Augmentation, IsAFunctionOfSeedEpochAndSampleAlone) {
  std::set<std::pair<int, int>> shifts;
  int flips = 0;
  int same_in_next_epoch = 0;
  for (std::uint32_t sample = 0; sample < 1000; ++sample) {
    const auto draw = draw_augmentation(Augmentation::kCropFlip, 5, 2, sample);
    EXPECT_EQ(draw, draw_augmentation(Augmentation::kCropFlip, 5, 2, sample));
    EXPECT_LE(std::abs(draw.shift_rows), 4);
    EXPECT_LE(std::abs(draw.shift_columns), 4);
    shifts.emplace(draw.shift_rows, draw.shift_columns);
    flips += draw.flip ? 1 : 0;
    same_in_next_epoch += draw == draw_augmentation(Augmentation::kCropFlip, 5, 3, sample) ? 1 : 0;
  }
  EXPECT_EQ(shifts.size(), 81U);
  EXPECT_NEAR(flips, 500, 80);             // 5 standard deviations
  EXPECT_NEAR(same_in_next_epoch, 6, 13);  // 1000 / 162
}

TEST(Augmentation, NamesChooseWhatIsDrawn) {
  EXPECT_EQ(augmentation_from_name("crop-flip"), Augmentation::kCropFlip);
  EXPECT_EQ(augmentation_from_name("flop"), std::nullopt);
  bool flipped = false;
  for (std::uint32_t sample = 0; sample < 20; ++sample) {
    EXPECT_EQ(draw_augmentation(Augmentation::kNone, 1, 0, sample), AugmentationDraw{});
    const auto draw = draw_augmentation(Augmentation::kFlip, 1, 0, sample);
    EXPECT_EQ(draw.shift_rows, 0);
    flipped = flipped || draw.flip;
  }
  EXPECT_TRUE(flipped);
}

}  // namespace
}  // namespace joulescale
