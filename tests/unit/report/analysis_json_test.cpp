// SPDX-License-Identifier: Apache-2.0
#include "joulescale/report/analysis_json.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "joulescale/analysis/run_summaries.h"
#include "joulescale/base/file.h"

#include "tests/support/synthetic_study.h"

namespace joulescale {
namespace {

using nlohmann::json;

TEST(AnalysisJson, PublishedStudy) {
  const auto text =
      read_file(JOULESCALE_SOURCE_DIR "/data/published/study/resnet50_a100_growing_dataset.csv");
  const auto rows = parse_run_summaries(*text, "published");
  const json analysis = json::parse(format_analysis_json(analyze_run_summaries(*rows, {})));
  EXPECT_EQ(analysis.at("schema"), "joulescale.analysis/1");
  EXPECT_EQ(analysis.at("energy_basis"), "measured");
  ASSERT_EQ(analysis.at("groups").size(), 4U);
  const json& group = analysis.at("groups").at(0);
  EXPECT_EQ(group.at("name"), "sgpu_80072_gbs_256");
  EXPECT_EQ(group.at("points"), 5);
  ASSERT_EQ(group.at("fits").size(), 3U);
  const json& affine = group.at("fits").at(1);
  EXPECT_EQ(affine.at("form"), "a*h+b");
  EXPECT_NEAR(affine.at("a"), 0.284996, 5e-7);
  EXPECT_NEAR(affine.at("b"), 0.981469, 5e-7);
  EXPECT_NEAR(affine.at("r2"), 0.999635, 5e-7);
  EXPECT_EQ(affine.at("intervals").at("a").size(), 2U);
  EXPECT_FALSE(affine.contains("c"));
  EXPECT_EQ(group.at("fits").at(2).at("form"), "c*h^k");
  EXPECT_NEAR(group.at("fits").at(2).at("k"), 0.848017, 5e-7);
  EXPECT_EQ(analysis.at("groups").at(3).at("name"), "all");
  EXPECT_EQ(analysis.at("groups").at(3).at("points"), 17);
  EXPECT_EQ(analysis.at("configurations").size(), 17U);
}

TEST(AnalysisJson, WhatIsMissingHasNoKey) {
  RunRecord run = testing::synthetic_run({});
  run.training->top1_error.reset();
  const json analysis = json::parse(format_analysis_json(analyze_runs(std::vector{run}, {})));
  const json& configuration = analysis.at("configurations").at(0);
  EXPECT_FALSE(configuration.contains("top1_error_percent"));
  EXPECT_FALSE(configuration.at("energy_kwh").contains("sd"));
  EXPECT_FALSE(configuration.at("energy_kwh").contains("interval"));
  const json& fit = analysis.at("groups").back().at("fits").at(0);
  EXPECT_FALSE(fit.contains("intervals"));
  EXPECT_FALSE(fit.contains("r2"));
}

TEST(AnalysisJson, EstimatesAreNamed) {
  const RunRecord run = testing::with_estimated_energy(testing::synthetic_run({}));
  const json analysis = json::parse(format_analysis_json(analyze_runs(std::vector{run}, {})));
  EXPECT_EQ(analysis.at("energy_basis"), "with_estimates");
  EXPECT_TRUE(analysis.at("all_estimated"));
}

TEST(AnalysisJson, EmptyAnalysisIsStrictJson) {
  const json analysis = json::parse(format_analysis_json(analyze_runs({}, {})));
  EXPECT_TRUE(analysis.at("configurations").empty());
}

}  // namespace
}  // namespace joulescale
