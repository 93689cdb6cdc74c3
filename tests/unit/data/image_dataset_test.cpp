// SPDX-License-Identifier: Apache-2.0
#include "joulescale/data/image_dataset.h"

#include <filesystem>

#include <gmock/gmock.h>

#include "tests/support/idx_files.h"
#include "tests/support/temp_dir.h"

namespace joulescale {
namespace {

using testing::gzip;
using ::testing::HasSubstr;
using testing::idx_bytes;
using testing::TempDir;
using testing::write_file;
using testing::write_image_dataset;

TEST(ImageDataset, LoadsBothSplits) {
  const TempDir directory;
  write_image_dataset(directory.path(), 30, 20);
  const auto data = load_image_data("fashion-mnist", directory.path());
  ASSERT_TRUE(data.ok()) << data.error().text();
  EXPECT_EQ(data->train.size(), 30U);
  EXPECT_EQ(data->test.size(), 20U);
  EXPECT_EQ(data->num_classes, 10);
  EXPECT_EQ(data->train.image_bytes(), 144U);
  EXPECT_EQ(data->train.labels[13], 3);
  EXPECT_EQ(data->test.image(1).data() - data->test.image(0).data(), 144);
}

TEST(ImageDataset, UncompressedFilesServeToo) {
  const TempDir directory;
  write_image_dataset(directory.path(), 10, 10);
  std::filesystem::remove(directory / "t10k-labels-idx1-ubyte.gz");
  write_file(directory / "t10k-labels-idx1-ubyte", idx_bytes({10}, std::string(10, '\1')));
  EXPECT_TRUE(load_image_data("fashion-mnist", directory.path()).ok());
}

TEST(ImageDataset, MissingFileIsNamedWithTheRemedy) {
  const TempDir directory;
  write_image_dataset(directory.path(), 10, 10);
  std::filesystem::remove(directory / "t10k-images-idx3-ubyte.gz");
  const auto error = check_image_data("fashion-mnist", directory.path()).error();
  EXPECT_EQ(exit_status_of(error), 2);
  EXPECT_THAT(error.text(), HasSubstr("t10k-images-idx3-ubyte.gz"));
  EXPECT_THAT(error.text(), HasSubstr("dataset-fashion-mnist"));
}

TEST(ImageDataset, LabelsMustMatchImagesAndClasses) {
  const TempDir directory;
  write_image_dataset(directory.path(), 10, 10);
  const auto labels = directory / "train-labels-idx1-ubyte.gz";
  write_file(labels, gzip(idx_bytes({9}, std::string(9, '\1'))));
  EXPECT_THAT(load_image_data("fashion-mnist", directory.path()).error().text(),
              HasSubstr("expected 10 labels"));
  write_file(labels, gzip(idx_bytes({10}, std::string(9, '\1') + '\x0A')));
  EXPECT_THAT(load_image_data("fashion-mnist", directory.path()).error().text(),
              HasSubstr("label 10 of sample 9"));
  write_file(labels, gzip(idx_bytes({5, 2}, std::string(10, '\1'))));
  EXPECT_FALSE(load_image_data("fashion-mnist", directory.path()).ok());
}

TEST(ImageDataset, UnknownNameIsRefused) {
  EXPECT_THAT(load_image_data("mnist", "/tmp").error().text(), HasSubstr("unknown data set"));
}

}  // namespace
}  // namespace joulescale
