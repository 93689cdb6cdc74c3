// SPDX-License-Identifier: Apache-2.0
// From 8-bit images to the float batches that a network takes: augmentation and normalisation,
// written straight into the caller's buffer.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "joulescale/data/image_dataset.h"

namespace joulescale {

enum class Augmentation {
  kNone,
  kFlip,      // left-right with probability 1/2
  kCropFlip,  // that, after zero padding by 4 pixels and a crop of the original size at a random
              // place (He et al. 2015, section 4.2)
};

std::optional<Augmentation> augmentation_from_name(std::string_view name);

/// What augmentation does to one sample in one epoch. A pure function of its arguments: neither the
/// number of ranks nor the place in the order matters.
struct AugmentationDraw {
  bool flip = false;
  int shift_rows = 0;  // output row r shows input row r + shift_rows, in [-4, 4]
  int shift_columns = 0;

  bool operator==(const AugmentationDraw&) const = default;
};
AugmentationDraw draw_augmentation(Augmentation augmentation,
                                   std::uint64_t seed,
                                   std::int64_t epoch,
                                   std::uint32_t sample);

/// (value / 255 - mean) / standard deviation, for each 8-bit value of each channel.
class Normalization {
 public:
  /// Mean and standard deviation a channel over all pixels of a data set.
  static Normalization of(const ImageDataset& dataset);

  double mean(int channel) const { return mean_[static_cast<std::size_t>(channel)]; }
  double deviation(int channel) const { return deviation_[static_cast<std::size_t>(channel)]; }
  float value(int channel, std::uint8_t pixel) const {
    return table_[static_cast<std::size_t>(channel)][pixel];
  }

 private:
  std::vector<double> mean_;
  std::vector<double> deviation_;
  std::vector<std::array<float, 256>> table_;
};

/// Writes the samples' images one after the other as NHWC floats: samples.size() * image_bytes()
/// values. Padding is black (pixel value 0) before normalisation.
void write_image_batch(const ImageDataset& dataset,
                       const Normalization& normalization,
                       std::span<const std::uint32_t> samples,
                       std::span<const AugmentationDraw> draws,
                       std::span<float> out);

}  // namespace joulescale
