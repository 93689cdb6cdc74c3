// SPDX-License-Identifier: Apache-2.0
// Fashion-MNIST (Xiao, Rasul, Vollgraf 2017): 60,000 + 10,000 grey images of 28 x 28, 10 classes,
// as four IDX files.
#include "joulescale/data/image_dataset.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "joulescale/base/text.h"
#include "joulescale/data/idx.h"

namespace joulescale {
namespace {

constexpr std::string_view kFashionMnist = "fashion-mnist";
constexpr std::array kNames = {kFashionMnist};
constexpr int kFashionMnistClasses = 10;
constexpr std::int64_t kFashionMnistTrainSamples = 60'000;
constexpr std::array<std::string_view, 4> kFashionMnistFiles = {
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
};

Result<void> check_name(std::string_view dataset) {
  if (std::ranges::find(kNames, dataset) != kNames.end()) {
    return {};
  }
  return Error(ErrorCode::kInvalidArgument,
               fmt::format("unknown data set '{}' (known: {})", dataset, kFashionMnist));
}

/// The file itself or its compressed form, whichever is there.
Result<std::filesystem::path> find_file(const std::filesystem::path& directory,
                                        std::string_view name) {
  for (const std::string_view suffix : {".gz", ""}) {
    auto file = directory / fmt::format("{}{}", name, suffix);
    if (::access(file.c_str(), R_OK) == 0) {
      return file;
    }
  }
  return Error(ErrorCode::kInvalidArgument,
               fmt::format("Fashion-MNIST: there is no readable {}.gz in '{}' (install Debian's "
                           "dataset-fashion-mnist, or name another directory with --data-dir)",
                           name,
                           directory.native()));
}

Result<ImageDataset> load_split(const std::filesystem::path& directory,
                                std::string_view images_name,
                                std::string_view labels_name,
                                int num_classes) {
  JOULESCALE_TRY_ASSIGN(const auto images_file, find_file(directory, images_name));
  JOULESCALE_TRY_ASSIGN(const auto labels_file, find_file(directory, labels_name));
  JOULESCALE_TRY_ASSIGN(IdxArray images, read_idx(images_file));
  JOULESCALE_TRY_ASSIGN(IdxArray labels, read_idx(labels_file));
  constexpr std::uint32_t kMaxSide = 1U << 14;
  if (images.dimensions.size() != 3 || images.dimensions[1] > kMaxSide ||
      images.dimensions[2] > kMaxSide) {
    return Error(ErrorCode::kCorruptData,
                 fmt::format("'{}': expected samples x rows x columns", images_file.native()));
  }
  if (labels.dimensions.size() != 1 || labels.dimensions[0] != images.dimensions[0]) {
    return Error(ErrorCode::kCorruptData,
                 fmt::format("'{}': expected {} labels, one for each image in '{}'",
                             labels_file.native(),
                             images.dimensions[0],
                             images_file.native()));
  }
  const auto wrong =
      std::ranges::find_if(labels.values, [&](std::uint8_t label) { return label >= num_classes; });
  if (wrong != labels.values.end()) {
    return Error(ErrorCode::kCorruptData,
                 fmt::format("'{}': label {} of sample {} is not one of {} classes",
                             labels_file.native(),
                             *wrong,
                             wrong - labels.values.begin(),
                             num_classes));
  }
  return ImageDataset{.height = static_cast<int>(images.dimensions[1]),
                      .width = static_cast<int>(images.dimensions[2]),
                      .channels = 1,
                      .pixels = std::move(images.values),
                      .labels = std::move(labels.values)};
}

}  // namespace

std::span<const std::string_view> image_dataset_names() { return kNames; }

std::filesystem::path default_data_directory(std::string_view dataset) {
  return dataset == kFashionMnist ? "/usr/share/datasets/fashion-mnist" : "";
}

std::int64_t published_train_samples(std::string_view dataset) {
  return dataset == kFashionMnist ? kFashionMnistTrainSamples : 0;
}

Result<void> check_image_data(std::string_view dataset, const std::filesystem::path& directory) {
  JOULESCALE_TRY(check_name(dataset));
  for (const std::string_view name : kFashionMnistFiles) {
    JOULESCALE_TRY_ASSIGN(const auto file, find_file(directory, name));
    if (std::error_code error; !std::filesystem::is_regular_file(file, error)) {
      return Error(ErrorCode::kInvalidArgument,
                   fmt::format("'{}' is not a regular file", file.native()));
    }
  }
  return {};
}

Result<ImageDataSplits> load_image_data(std::string_view dataset,
                                        const std::filesystem::path& directory) {
  JOULESCALE_TRY(check_name(dataset));
  const auto& [train_images, train_labels, test_images, test_labels] = kFashionMnistFiles;
  ImageDataSplits splits;
  splits.name = dataset;
  splits.num_classes = kFashionMnistClasses;
  JOULESCALE_TRY_ASSIGN(splits.train,
                        load_split(directory, train_images, train_labels, splits.num_classes));
  JOULESCALE_TRY_ASSIGN(splits.test,
                        load_split(directory, test_images, test_labels, splits.num_classes));
  if (splits.test.height != splits.train.height || splits.test.width != splits.train.width) {
    return Error(ErrorCode::kCorruptData,
                 fmt::format("'{}': training and test images differ in size", directory.native()));
  }
  return splits;
}

}  // namespace joulescale
