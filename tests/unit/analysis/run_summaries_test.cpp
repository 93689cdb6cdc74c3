// SPDX-License-Identifier: Apache-2.0
#include "joulescale/analysis/run_summaries.h"

#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "joulescale/base/file.h"

namespace joulescale {
namespace {

constexpr const char* kHeader =
    "series,gpus,local_batch_size,global_batch_size,training_samples,energy_kwh_mean,"
    "energy_kwh_std,gpu_hours_mean,gpu_hours_std\n";

StudyAnalysis published_analysis() {
  const auto text =
      read_file(JOULESCALE_SOURCE_DIR "/data/published/study/resnet50_a100_growing_dataset.csv");
  EXPECT_TRUE(text);
  const auto rows = parse_run_summaries(*text, "published");
  EXPECT_TRUE(rows) << rows.error().text();
  return analyze_run_summaries(*rows, {});
}

struct PublishedFits {
  const char* group;
  std::size_t num_points;
  const char* proportional;
  const char* affine;
  const char* affine_r2;
  const char* power;
};

std::string error_of(const std::string& text) {
  const auto rows = parse_run_summaries(text, "f.csv");
  return rows ? "no error" : rows.error().text();
}

// The least-squares fits over the published measurements of ResNet50 on A100 (docs/analysis.md), to
// all six printed decimals.
TEST(PublishedStudy, FitsAgreeToAllPrintedDigits) {
  const StudyAnalysis analysis = published_analysis();
  const std::vector<PublishedFits> expected = {
      {"sgpu_80072_gbs_256", 5, "0.297330", "0.284996 0.981469", "0.999635", "0.848017 0.564735"},
      {"sgpu_5004_gbs_8192", 4, "0.289753", "0.295755 -0.483003", "0.999979", "1.043549 0.238652"},
      {"sgpu_5004_lbs_256", 9, "0.265389", "0.265183 0.015698", "0.999934", "0.934816 0.327593"},
      {"all", 17, "0.283780", "0.281236 0.203876", "0.994447", "0.949927 0.348381"},
  };
  ASSERT_EQ(analysis.groups.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Group& group = analysis.groups[i];
    EXPECT_EQ(group.name, expected[i].group);
    EXPECT_EQ(group.num_points, expected[i].num_points);
    ASSERT_EQ(group.fits.size(), 3U);
    EXPECT_EQ(fmt::format("{:.6f}", group.fits[0].a->value), expected[i].proportional);
    EXPECT_EQ(fmt::format("{:.6f} {:.6f}", group.fits[1].a->value, group.fits[1].b->value),
              expected[i].affine);
    EXPECT_EQ(fmt::format("{:.6f}", *group.fits[1].r2), expected[i].affine_r2);
    EXPECT_EQ(fmt::format("{:.6f} {:.6f}", group.fits[2].k->value, group.fits[2].c->value),
              expected[i].power);
    for (const Fit& fit : group.fits) {
      const auto& slope = fit.a ? fit.a : fit.k;
      ASSERT_TRUE(slope->interval);
      EXPECT_LT(slope->interval->low, slope->value);
      EXPECT_GT(slope->interval->high, slope->value);
    }
  }
}

TEST(PublishedStudy, ConfigurationInTwoSeriesIsOne) {
  const StudyAnalysis analysis = published_analysis();
  EXPECT_EQ(analysis.configurations.size(), 17U);
  for (const MeasuredConfiguration& configuration : analysis.configurations) {
    if (configuration.key.num_devices == 32) {
      EXPECT_EQ(configuration.series,
                (std::vector<std::string>{"sgpu_5004_gbs_8192", "sgpu_5004_lbs_256"}));
    }
  }
}

TEST(PublishedStudy, DerivedQuantities) {
  const StudyAnalysis analysis = published_analysis();
  const MeasuredConfiguration& first = analysis.configurations.front();  // 1 GPU, 5004 samples
  EXPECT_EQ(first.key.dataset_samples, 5004);
  EXPECT_EQ(fmt::format("{:.2f}", *first.runtime_s.mean / 60), "24.65");
  EXPECT_EQ(fmt::format("{:.4f}", *first.energy_kwh_per_device_hour.mean), "0.4427");
  EXPECT_FALSE(first.energy_kwh_per_device_hour.sd);
  EXPECT_FALSE(first.top1_error_percent.mean);
}

TEST(RunSummaries, ColumnsMayStandInAnyOrderAndQuoted) {
  const auto rows = parse_run_summaries(
      "gpu_hours_std,gpu_hours_mean,energy_kwh_std,energy_kwh_mean,training_samples,"
      "global_batch_size,local_batch_size,gpus,\"series\"\r\n"
      "0,2.5,0.1,1e-1,1000,64,32,2,\"a, \"\"b\"\"\"\r\n",
      "f.csv");
  ASSERT_TRUE(rows) << rows.error().text();
  ASSERT_EQ(rows->size(), 1U);
  EXPECT_EQ(rows->front().series, "a, \"b\"");
  EXPECT_EQ(rows->front().gpus, 2);
  EXPECT_DOUBLE_EQ(rows->front().energy_kwh_mean, 0.1);
}

TEST(RunSummaries, EachFaultNamesItsPlace) {
  const std::string header = kHeader;
  EXPECT_TRUE(error_of("").starts_with("f.csv:1:1: the file is empty"));
  EXPECT_TRUE(error_of("\n\n").starts_with("f.csv:1:1: the file is empty"));
  EXPECT_TRUE(error_of(header).starts_with("f.csv:2:1: no line of summaries"));
  EXPECT_EQ(error_of("series,gpu\n"), "f.csv:1:8: unknown column 'gpu'; did you mean 'gpus'?");
  EXPECT_EQ(error_of("series,gpus\n"), "f.csv:1:1: column 'local_batch_size' is missing");
  EXPECT_EQ(error_of("series,series\n"), "f.csv:1:8: column 'series' stands twice");
  EXPECT_EQ(error_of(header + "a,1,2,2,10,1.0,0,1.0\n"),
            "f.csv:2:1: 8 values where the first line names 9 columns");
  EXPECT_EQ(error_of(header + "a,1,2,2,10,1.0,0,1.0,0,7\n"),
            "f.csv:2:24: 10 values where the first line names 9 columns");
  EXPECT_EQ(error_of(header + "\"a,1,2,2,10,1.0,0,1.0,0\n"),
            "f.csv:2:1: a quoted value is not closed");
  EXPECT_EQ(error_of(header + "\"a\"b,1,2,2,10,1.0,0,1.0,0\n"),
            "f.csv:2:4: text after a closing quote");
}

TEST(RunSummaries, BadNumbersAreRefused) {
  const std::string header = kHeader;
  for (const char* bad :
       {"nan", "inf", "-1", "0", "3,14", "1e400", "1.0 kWh", "", "0x10", "2e15"}) {
    const std::string error =
        error_of(header + "a,1,2,2,10,\"" + std::string(bad) + "\",0,1.0,0\n");
    EXPECT_TRUE(error.starts_with("f.csv:2:12: 'energy_kwh_mean' must be a number above 0"))
        << error;
  }
  for (const char* bad : {"0", "-4", "1.5", "99999999999", "NaN", ""}) {
    const std::string error = error_of(header + "a," + bad + ",2,2,10,1.0,0,1.0,0\n");
    EXPECT_TRUE(error.starts_with("f.csv:2:3: 'gpus' must be a whole number")) << error;
  }
}

TEST(RunSummaries, TheSameConfigurationTwiceInASeriesIsRefused) {
  EXPECT_EQ(error_of(std::string(kHeader) + "a,1,2,2,10,1.0,0,1.0,0\n\na,1,2,2,10,1.5,0,1.0,0\n"),
            "f.csv:4:1: the same series and configuration as in line 2; give each once");
}

TEST(RunSummaries, SeriesThatDisagreeBothCount) {
  const auto rows = parse_run_summaries(
      std::string(kHeader) + "a,1,2,2,10,1.0,0,1.0,0\nb,1,2,2,10,1.5,0,1.0,0\n", "f.csv");
  const StudyAnalysis analysis = analyze_run_summaries(*rows, {});
  EXPECT_EQ(analysis.configurations.size(), 2U);
  EXPECT_EQ(analysis.groups.back().num_points, 2U);
  EXPECT_EQ(analysis.notes.back(),
            "1 device, LBS 2, GBS 2: two series give different values; both count");
}

}  // namespace
}  // namespace joulescale
