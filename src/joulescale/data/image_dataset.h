// SPDX-License-Identifier: Apache-2.0
// Labelled 8-bit images in memory, and the data sets known by name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "joulescale/base/error.h"

namespace joulescale {

/// Images of one size, sample by sample; within one, rows of pixels of interleaved channels (NHWC).
struct ImageDataset {
  int height = 0;
  int width = 0;
  int channels = 0;
  std::vector<std::uint8_t> pixels;
  std::vector<std::uint8_t> labels;

  std::size_t size() const { return labels.size(); }
  std::size_t image_bytes() const {
    return static_cast<std::size_t>(height) * static_cast<std::size_t>(width) *
           static_cast<std::size_t>(channels);
  }
  std::span<const std::uint8_t> image(std::size_t sample) const {
    return std::span(pixels).subspan(sample * image_bytes(), image_bytes());
  }
};

struct ImageDataSplits {
  std::string name;  // "fashion-mnist"
  int num_classes = 0;
  ImageDataset train;
  ImageDataset test;
};

/// The names that load_image_data() knows.
std::span<const std::string_view> image_dataset_names();

/// Where a data set lies unless the user says otherwise; empty for an unknown name.
std::filesystem::path default_data_directory(std::string_view dataset);

/// Training samples of the data set as published; 0 for an unknown name.
std::int64_t published_train_samples(std::string_view dataset);

/// Error (kInvalidArgument, one line with the remedy) unless the data set is known and its files
/// are readable in `directory`. Reads no content.
Result<void> check_image_data(std::string_view dataset, const std::filesystem::path& directory);

/// Errors name the file.
Result<ImageDataSplits> load_image_data(std::string_view dataset,
                                        const std::filesystem::path& directory);

}  // namespace joulescale
