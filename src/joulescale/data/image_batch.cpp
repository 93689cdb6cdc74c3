// SPDX-License-Identifier: Apache-2.0
#include "joulescale/data/image_batch.h"

#include <cmath>

#include "joulescale/data/random.h"

namespace joulescale {
namespace {

constexpr int kPadding = 4;
constexpr double kMaxPixel = 255.0;
constexpr std::uint64_t kAugmentationStream = 3;  // 1 and 2: sampler.cpp

void write_image(const ImageDataset& dataset,
                 const Normalization& normalization,
                 std::uint32_t sample,
                 const AugmentationDraw& draw,
                 float* out) {
  const std::uint8_t* image = dataset.image(sample).data();
  for (int row = 0; row < dataset.height; ++row) {
    const int from_row = row + draw.shift_rows;
    const bool row_inside = from_row >= 0 && from_row < dataset.height;
    for (int column = 0; column < dataset.width; ++column) {
      const int unflipped = draw.flip ? dataset.width - 1 - column : column;
      const int from_column = unflipped + draw.shift_columns;
      const bool inside = row_inside && from_column >= 0 && from_column < dataset.width;
      const std::size_t offset =
          inside ? static_cast<std::size_t>((from_row * dataset.width + from_column) *
                                            dataset.channels)
                 : 0;
      for (int channel = 0; channel < dataset.channels; ++channel) {
        const std::uint8_t pixel =
            inside ? image[offset + static_cast<std::size_t>(channel)] : std::uint8_t{0};
        *out++ = normalization.value(channel, pixel);
      }
    }
  }
}

}  // namespace

std::optional<Augmentation> augmentation_from_name(std::string_view name) {
  if (name == "none") {
    return Augmentation::kNone;
  }
  if (name == "flip") {
    return Augmentation::kFlip;
  }
  if (name == "crop-flip") {
    return Augmentation::kCropFlip;
  }
  return std::nullopt;
}

AugmentationDraw draw_augmentation(Augmentation augmentation,
                                   std::uint64_t seed,
                                   std::int64_t epoch,
                                   std::uint32_t sample) {
  AugmentationDraw draw;
  if (augmentation == Augmentation::kNone) {
    return draw;
  }
  Random random({kAugmentationStream, seed, static_cast<std::uint64_t>(epoch), sample});
  draw.flip = random.below(2) == 1;
  if (augmentation == Augmentation::kCropFlip) {
    draw.shift_rows = static_cast<int>(random.below(2 * kPadding + 1)) - kPadding;
    draw.shift_columns = static_cast<int>(random.below(2 * kPadding + 1)) - kPadding;
  }
  return draw;
}

Normalization Normalization::of(const ImageDataset& dataset) {
  Normalization normalization;
  const auto channels = static_cast<std::size_t>(dataset.channels);
  for (std::size_t channel = 0; channel < channels; ++channel) {
    std::array<std::uint64_t, 256> histogram{};
    for (std::size_t i = channel; i < dataset.pixels.size(); i += channels) {
      ++histogram[dataset.pixels[i]];
    }
    double count = 0.0;
    double sum = 0.0;
    double sum_of_squares = 0.0;
    for (std::size_t value = 0; value < histogram.size(); ++value) {
      const auto weight = static_cast<double>(histogram[value]);
      const double x = static_cast<double>(value) / kMaxPixel;
      count += weight;
      sum += weight * x;
      sum_of_squares += weight * x * x;
    }
    const double mean = count > 0.0 ? sum / count : 0.0;
    const double variance = count > 0.0 ? sum_of_squares / count - mean * mean : 0.0;
    const double deviation = variance > 0.0 ? std::sqrt(variance) : 1.0;  // 1: all pixels alike
    std::array<float, 256> table{};
    for (std::size_t value = 0; value < table.size(); ++value) {
      table[value] =
          static_cast<float>((static_cast<double>(value) / kMaxPixel - mean) / deviation);
    }
    normalization.mean_.push_back(mean);
    normalization.deviation_.push_back(deviation);
    normalization.table_.push_back(table);
  }
  return normalization;
}

void write_image_batch(const ImageDataset& dataset,
                       const Normalization& normalization,
                       std::span<const std::uint32_t> samples,
                       std::span<const AugmentationDraw> draws,
                       std::span<float> out) {
  JOULESCALE_CHECK(draws.size() == samples.size() &&
                   out.size() == samples.size() * dataset.image_bytes());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    write_image(
        dataset, normalization, samples[i], draws[i], out.data() + i * dataset.image_bytes());
  }
}

}  // namespace joulescale
