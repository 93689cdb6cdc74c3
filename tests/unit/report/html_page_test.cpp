// SPDX-License-Identifier: Apache-2.0
#include "joulescale/report/html_page.h"

#include <regex>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "joulescale/report/analysis_json.h"
#include "joulescale/report/assets.h"

#include "tests/support/synthetic_study.h"

namespace joulescale {
namespace {

constexpr const char* kEvil = R"(</script><img src=x onerror=alert(1)>"'&)";

StudyReport report_named(const std::string& name) {
  StudyReport report;
  report.source = name;
  report.runs = testing::synthetic_study();
  for (RunRecord& run : report.runs) {
    run.study->name = name;
    run.study->series = name + run.study->series;
    run.id = name + run.id;
    run.flags = {name};
    run.hardware.cpu_model = name;
    run.training->model = name;
    run.training->phases[name] = {Seconds(1), {}, {}, {}};
    run.sources[0].name = name;
    run.energy.components["cpu"].instrument_accuracy = name;
    run.energy.components["cpu"].inputs = {{name, name}};
    run.nodes[0].host = name;
  }
  report.problems = {name};
  report.analysis = analyze_runs(report.runs, {});
  return report;
}

/// The page without Plotly's bundle, which holds markup in its own strings.
std::string own_part(const std::string& page) {
  const auto begin = page.find("/**\n* plotly.js");
  const auto end = page.find("</script>", begin);
  EXPECT_NE(begin, std::string::npos);
  return page.substr(0, begin) + page.substr(end);
}

class HtmlPage : public ::testing::Test {
 protected:
  void SetUp() override {
    if (plotly_js().empty()) {
      EXPECT_FALSE(format_html_page(report_named("x"), "1.0"));
      GTEST_SKIP() << "built without Plotly's bundle";
    }
  }
};

TEST_F(HtmlPage, NamesAreEscapedEverywhere) {
  const auto page = format_html_page(report_named(kEvil), "1.0");
  ASSERT_TRUE(page) << page.error().text();
  const std::string own = own_part(*page);
  EXPECT_EQ(own.find("<img"), std::string::npos);
  EXPECT_EQ(own.find("onerror=alert(1)>"), std::string::npos);
  const std::regex script_end("</script>");
  EXPECT_EQ(std::distance(std::sregex_iterator(own.begin(), own.end(), script_end),
                          std::sregex_iterator()),
            3);
}

TEST_F(HtmlPage, EmbeddedAnalysisReadsBack) {
  const StudyReport report = report_named(kEvil);
  const auto page = format_html_page(report, "1.0");
  const std::string start = "id=\"joulescale-analysis\">";
  const auto begin = page->find(start) + start.size();
  const auto embedded = page->substr(begin, page->find("</script>", begin) - begin);
  EXPECT_EQ(nlohmann::json::parse(embedded),
            nlohmann::json::parse(format_analysis_json(report.analysis)));
}

TEST_F(HtmlPage, NothingPointsOutOfTheFile) {
  const auto page = format_html_page(report_named("study"), "1.0");
  const std::regex address(R"((src|href)\s*=\s*\\?["']?https?://|url\(\s*["']?https?:|@import)",
                           std::regex::icase);
  std::smatch match;
  EXPECT_FALSE(std::regex_search(*page, match, address)) << match.str();
  EXPECT_LT(page->size(), std::size_t{10} << 20);
  EXPECT_NE(page->find("default-src 'none'"), std::string::npos);
}

TEST_F(HtmlPage, BundleKeepsItsLicence) {
  const auto page = format_html_page(report_named("study"), "1.0");
  EXPECT_NE(page->find("* Licensed under the MIT license"), std::string::npos);
  EXPECT_NE(page->find("Permission is hereby granted, free of charge"), std::string::npos);
}

TEST_F(HtmlPage, EstimatesAreLabelledInEveryEnergyPlot) {
  StudyReport report = report_named("study");
  for (RunRecord& run : report.runs) {
    run = testing::with_estimated_energy(run);
  }
  report.analysis = analyze_runs(report.runs, {});
  const auto page = format_html_page(report, "1.0");
  EXPECT_NE(page->find("<figcaption>Energy (estimated) against CPU ranks"), std::string::npos);
  EXPECT_NE(page->find("<figcaption>Energy (estimated) against CPU-rank hours, with fits"),
            std::string::npos);
  EXPECT_NE(page->find("energy estimated, not measured"), std::string::npos);
}

}  // namespace
}  // namespace joulescale
