// SPDX-License-Identifier: Apache-2.0
// The page in a real browser (headless Chromium), with no network: the plots are drawn, their
// numbers are the analysis', nothing is asked for, nothing is reported on the console.
#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "joulescale/analysis/run_summaries.h"
#include "joulescale/base/file.h"
#include "joulescale/report/assets.h"
#include "joulescale/report/html_page.h"
#include "joulescale/report/table_writers.h"

#include "tests/support/program_run.h"
#include "tests/support/synthetic_study.h"
#include "tests/support/temp_dir.h"

namespace joulescale {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kChromium = "/usr/bin/chromium";

StudyReport report_of(std::vector<RunRecord> runs) {
  StudyReport report;
  report.source = "study";
  report.analysis = analyze_runs(runs, {});
  report.runs = std::move(runs);
  return report;
}

std::size_t count(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  return static_cast<std::size_t>(
      std::distance(std::sregex_iterator(text.begin(), text.end(), regex), std::sregex_iterator()));
}

class ReportInBrowser : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(kChromium)) {
      GTEST_SKIP() << "there is no " << kChromium;
    }
    if (plotly_js().empty()) {
      GTEST_SKIP() << "built without Plotly's bundle";
    }
  }

  /// The browser's log without what its own pages say (offline: that the network is slow).
  static std::string without_own_messages(const std::string& log) {
    std::istringstream lines(log);
    std::string kept;
    for (std::string line; std::getline(lines, line);) {
      if (line.find("source: chrome://") == std::string::npos) {
        kept += line + "\n";
      }
    }
    return kept;
  }

  /// Opens the page of `report`; what the browser printed on stdout is in dom_, its log in log_.
  void open(const StudyReport& report, const std::vector<std::string>& what) {
    const auto page = format_html_page(report, "1.0");
    ASSERT_TRUE(page) << page.error().text();
    std::ofstream(dir_ / "report.html") << *page;
    std::vector<std::string> argv = {kChromium,
                                     "--headless",
                                     "--no-sandbox",
                                     "--disable-gpu",
                                     "--hide-scrollbars",
                                     "--disable-background-networking",
                                     "--disable-component-update",
                                     "--disable-dev-shm-usage",
                                     "--no-first-run",
                                     "--enable-logging=stderr",
                                     "--window-size=1280,2400",
                                     "--virtual-time-budget=20000",
                                     "--user-data-dir=" + (dir_ / "profile").native(),
                                     "--log-net-log=" + (dir_ / "net.json").native()};
    argv.insert(argv.end(), what.begin(), what.end());
    argv.push_back("file://" + (dir_ / "report.html").native());
    testing::ProgramRun run(argv);
    ASSERT_EQ(run.wait(std::chrono::seconds(200)), 0) << run.err();
    dom_ = run.out();
    log_ = without_own_messages(run.err());
  }

  /// The markup of one plot, drawn.
  std::string plot(const std::string& id) const {
    const auto begin = dom_.find("id=\"plot-" + id + "\"");
    const auto end = dom_.find("</figure>", begin);
    EXPECT_NE(end, std::string::npos) << id;
    return begin == std::string::npos ? "" : dom_.substr(begin, end - begin);
  }

  testing::TempDir dir_;
  std::string dom_;
  std::string log_;
};

TEST_F(ReportInBrowser, PlotsAreDrawnWithTheAnalysisNumbers) {
  open(report_of(testing::synthetic_study()), {"--dump-dom"});
  EXPECT_THAT(dom_, HasSubstr("data-plots=\"drawn\""));
  EXPECT_THAT(log_, Not(HasSubstr("CONSOLE")));
  const std::string point = "<path class=\"point\"";
  // Four configurations, one of them in two series.
  EXPECT_EQ(count(plot("energy"), point), 5U);
  EXPECT_EQ(count(plot("runtime"), point), 5U);
  EXPECT_EQ(count(plot("fit"), point), 5U);
  EXPECT_EQ(count(plot("error"), point), 5U);
  EXPECT_EQ(count(plot("energy"), "<path class=\"yerror\""), 5U);
  // Five phases of four configurations.
  EXPECT_EQ(count(plot("phases"), "<g class=\"point\""), 20U);
  // The three fits of group "all" are drawn; all ten (three a group, one for the series with one
  // point) are in the legend.
  EXPECT_EQ(count(plot("fit"), "class=\"js-line\""), 3U + 10U);
  EXPECT_THAT(plot("fit"), HasSubstr("R\xC2\xB2 = 0.98"));
  EXPECT_THAT(dom_.substr(0, dom_.find("<script")), Not(HasSubstr("NaN")));
}

TEST_F(ReportInBrowser, TableReadsBackAsTheAnalysis) {
  const StudyReport report = report_of(testing::synthetic_study());
  open(report, {"--dump-dom"});
  const Table table = configuration_table(report, Columns::kInformative);
  const auto begin = dom_.find("id=\"table-configurations\"");
  const std::string markup = dom_.substr(begin, dom_.find("</figure>", begin) - begin);
  const std::regex cell("<td[^>]*>([^<]*)</td>");
  std::vector<std::string> read;
  for (std::sregex_iterator it(markup.begin(), markup.end(), cell), end; it != end; ++it) {
    read.push_back((*it)[1]);
  }
  std::vector<std::string> expected;
  for (const auto& row : table.rows) {
    for (const Cell& value : row) {
      expected.push_back(cell_text(value));
    }
  }
  EXPECT_EQ(read, expected);
}

TEST_F(ReportInBrowser, NothingIsAskedOfTheNetwork) {
  open(report_of(testing::synthetic_study()), {"--dump-dom"});
  const std::string net_log = testing::ProgramRun::text_of(dir_ / "net.json");
  ASSERT_THAT(net_log, HasSubstr("\"events\""));
  const std::regex request("\"url\":\"(https?|wss?)://([^\"/]*)");
  std::set<std::string> hosts;
  for (std::sregex_iterator it(net_log.begin(), net_log.end(), request), end; it != end; ++it) {
    hosts.insert((*it)[2]);
  }
  // The browser's own look-ups of its updates, not the page's.
  std::erase_if(hosts, [](const std::string& host) {
    return host.ends_with("google.com") || host.ends_with("googleapis.com") ||
           host.ends_with("gvt1.com");
  });
  EXPECT_THAT(hosts, ::testing::IsEmpty());
}

TEST_F(ReportInBrowser, HostileNamesAreShownAndDoNotRun) {
  const std::string evil = R"(</script><img src=x onerror=document.title="ran">"'&)";
  auto runs = testing::synthetic_study();
  for (RunRecord& run : runs) {
    run.study->name = evil;
    run.study->series = evil + run.study->series;
    run.study->more_series.clear();
    run.training->phases[evil] = {Seconds(5), {}, {}, {}};
    run.flags = {evil};
  }
  open(report_of(std::move(runs)), {"--dump-dom"});
  EXPECT_THAT(dom_, HasSubstr("data-plots=\"drawn\""));
  EXPECT_THAT(dom_, Not(HasSubstr("<title>ran")));
  EXPECT_THAT(dom_.substr(0, dom_.find("id=\"joulescale-analysis\"")), Not(HasSubstr("<img")));
  EXPECT_THAT(log_, Not(HasSubstr("CONSOLE")));
  EXPECT_THAT(plot("energy"), HasSubstr("&lt;img src=x onerror"));  // literally, in the legend
}

TEST_F(ReportInBrowser, PublishedStudyOnLogarithmicAxes) {
  const auto text =
      read_file(JOULESCALE_SOURCE_DIR "/data/published/study/resnet50_a100_growing_dataset.csv");
  StudyReport report;
  report.source = "published";
  report.analysis = analyze_run_summaries(*parse_run_summaries(*text, "published"), {});
  open(report, {"--dump-dom"});
  EXPECT_EQ(count(plot("fit"), "<path class=\"point\""), 18U);  // 17, one of them in two series
  EXPECT_THAT(plot("fit"), HasSubstr("all: E = 0.2812 h + 0.2039, R\xC2\xB2 = 0.9944"));
  EXPECT_THAT(plot("error"), HasSubstr("No run recorded a top-1 error"));
  EXPECT_THAT(log_, Not(HasSubstr("CONSOLE")));
}

// A mean whose error bar reaches zero stays on a logarithmic axis; what is 0 cannot be drawn.
TEST_F(ReportInBrowser, LogarithmicAxisKeepsPointsAndCountsWhatItCannotShow) {
  std::vector<RunRecord> runs;
  int devices = 1;
  for (const auto& [first_j, second_j] :
       std::vector<std::pair<double, double>>{{1e-9, 0.18e6}, {0.0, 0.0}, {5e6, 5e6}}) {
    for (const double energy_j : {first_j, second_j}) {
      testing::SyntheticRun parameters;
      parameters.series = "s";
      parameters.devices = devices;
      parameters.repetition = energy_j == first_j && runs.size() % 2 == 0 ? 0 : 1;
      parameters.energy_j = energy_j;
      runs.push_back(testing::synthetic_run(parameters));
    }
    ++devices;
  }
  open(report_of(std::move(runs)), {"--dump-dom"});
  EXPECT_EQ(count(plot("energy"), "<path class=\"point\""), 2U);
  EXPECT_EQ(count(plot("energy"), "<path class=\"yerror\""), 2U);
  EXPECT_THAT(plot("energy"), HasSubstr("1 value of 0 or less is not shown"));
  EXPECT_THAT(plot("energy"), Not(HasSubstr("NaN")));
  EXPECT_THAT(log_, Not(HasSubstr("CONSOLE")));
}

/// The highest number at the vertical axis of a plot.
double highest_tick(const std::string& plot) {
  double highest = 0.0;
  for (std::size_t at = plot.find("class=\"ytick\""); at != std::string::npos;
       at = plot.find("class=\"ytick\"", at + 1)) {
    const std::size_t text = plot.find('>', plot.find("<text", at)) + 1;
    std::string number = plot.substr(text, plot.find('<', text) - text);
    std::erase(number, ',');
    highest = std::max(highest, std::strtod(number.c_str(), nullptr));
  }
  return highest;
}

// Nearly equal device hours make a power law steep: it must not flatten the points.
TEST_F(ReportInBrowser, FitThatGrowsBeyondMeasureLeavesTheAxisToThePoints) {
  std::vector<RunRecord> runs;
  for (const int devices : {1, 2}) {
    for (const int repetition : {0, 1}) {
      testing::SyntheticRun parameters;
      parameters.series = "s";
      parameters.devices = devices;
      parameters.repetition = repetition;
      parameters.duration_s = devices == 1 ? 20.7 : 11.4;
      parameters.energy_j = (devices == 1 ? 300.0 : 200.0) + repetition;
      runs.push_back(testing::synthetic_run(parameters));
    }
  }
  open(report_of(std::move(runs)), {"--dump-dom"});
  constexpr double kHighestKilowattHours = 301.0 / 3.6e6;
  EXPECT_GE(highest_tick(plot("fit")), 0.5 * kHighestKilowattHours);
  EXPECT_LE(highest_tick(plot("fit")), 2.0 * kHighestKilowattHours);
}

/// Width, height and the number of different values of a byte in the picture's own data.
struct Picture {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::size_t distinct_rows = 0;
};

std::uint32_t big_endian(const std::string& bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    value = (value << 8U) | static_cast<unsigned char>(bytes.at(at + i));
  }
  return value;
}

/// Reads a PNG's header and inflates its rows (PNG specification, third edition, 5 and 10).
Picture read_png(const std::string& png) {
  Picture picture;
  EXPECT_TRUE(png.starts_with("\x89PNG\r\n\x1A\n"));
  picture.width = big_endian(png, 16);
  picture.height = big_endian(png, 20);
  const std::size_t channels = png.at(25) == 6 ? 4 : 3;
  std::string compressed;
  for (std::size_t at = 8; at + 12 <= png.size();) {
    const std::uint32_t size = big_endian(png, at);
    if (png.substr(at + 4, 4) == "IDAT") {
      compressed += png.substr(at + 8, size);
    }
    at += size + 12;
  }
  const std::size_t row_bytes = 1 + picture.width * channels;
  std::string rows(row_bytes * picture.height, '\0');
  auto size = static_cast<uLongf>(rows.size());
  EXPECT_EQ(::uncompress(reinterpret_cast<Bytef*>(rows.data()),
                         &size,
                         reinterpret_cast<const Bytef*>(compressed.data()),
                         static_cast<uLong>(compressed.size())),
            Z_OK);
  std::set<std::string> distinct;
  for (std::size_t row = 0; row < picture.height; ++row) {
    distinct.insert(rows.substr(row * row_bytes, row_bytes));
  }
  picture.distinct_rows = distinct.size();
  return picture;
}

TEST_F(ReportInBrowser, ScreenshotIsNotBlank) {
  open(report_of(testing::synthetic_study()), {"--screenshot=" + (dir_ / "page.png").native()});
  const Picture picture = read_png(testing::ProgramRun::text_of(dir_ / "page.png"));
  EXPECT_EQ(picture.width, 1280U);
  EXPECT_EQ(picture.height, 2400U);
  // A blank page has a handful of different rows; text and plots have hundreds.
  EXPECT_GT(picture.distinct_rows, 500U);
}

}  // namespace
}  // namespace joulescale
