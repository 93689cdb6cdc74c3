// SPDX-License-Identifier: Apache-2.0
// The commands report and analyze as a user calls them.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "joulescale/base/file.h"
#include "joulescale/record/run_json.h"

#include "tests/support/program_run.h"
#include "tests/support/synthetic_study.h"
#include "tests/support/temp_dir.h"

namespace joulescale {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::ProgramRun;
using ::testing::StartsWith;
using testing::TempDir;

constexpr const char* kPublished =
    JOULESCALE_SOURCE_DIR "/data/published/study/resnet50_a100_growing_dataset.csv";

struct Outcome {
  int status = 0;
  std::string out;
  std::string err;
};

Outcome joulescale(std::vector<std::string> arguments, const ProgramRun::Options& options = {}) {
  arguments.insert(arguments.begin(), JOULESCALE_BIN_DIR "/joulescale");
  ProgramRun run(arguments, options);
  const int status = run.wait();
  return {status, run.out(), run.err()};
}

void write_runs(const fs::path& study, const std::vector<RunRecord>& runs) {
  for (const RunRecord& run : runs) {
    const fs::path directory = study / "runs" / run.id;
    fs::create_directories(directory);
    std::ofstream(directory / "run.json") << format_run_record(run);
  }
}

std::size_t num_lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

/// One line on stderr that says `words`, nothing on stdout.
void expect_refused(const Outcome& outcome, int status, const std::string& words) {
  EXPECT_EQ(outcome.status, status) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(num_lines(outcome.err), 1U) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr(words));
}

TEST(ReportCommand, StudyDirectoryGivesTablesAndAPage) {
  const TempDir dir;
  write_runs(dir.path(), testing::synthetic_study());
  const Outcome outcome = joulescale({"report", dir.path()});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("Configurations of synthetic study"),
                    HasSubstr("18.20 \xC2\xB1 0.28"),
                    HasSubstr("Fits of energy E [kWh] over CPU-rank hours h")));
  const fs::path page = dir / "report.html";
  if (fs::exists(page)) {
    EXPECT_EQ(outcome.err, "page: " + page.native() + "\n");
    EXPECT_THAT(*read_file(page), HasSubstr("<h1>synthetic study</h1>"));
  } else {
    EXPECT_THAT(outcome.err, HasSubstr("built without Plotly's bundle"));
  }
}

TEST(ReportCommand, NoHtmlWritesNoPage) {
  const TempDir dir;
  write_runs(dir.path(), testing::synthetic_study());
  const Outcome outcome = joulescale({"report", dir.path(), "--no-html"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_FALSE(fs::exists(dir / "report.html"));
}

TEST(ReportCommand, FailedRunIsListedNotAveraged) {
  const TempDir dir;
  auto runs = testing::synthetic_study();
  runs.front().exit_status = 9;
  runs.front().duration = Seconds(1e6);
  write_runs(dir.path(), runs);
  const Outcome outcome = joulescale({"report", dir.path(), "--no-html"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, HasSubstr("Runs that failed: listed, not averaged"));
  EXPECT_THAT(outcome.out, HasSubstr("exit status 9"));
  EXPECT_THAT(outcome.out, HasSubstr("61.20"));  // the repetition that is complete
}

TEST(ReportCommand, FormatsForPrograms) {
  const TempDir dir;
  write_runs(dir.path(), testing::synthetic_study());
  const Outcome csv = joulescale({"report", dir.path(), "--no-html", "--format", "csv"});
  EXPECT_EQ(num_lines(csv.out), 6U);
  EXPECT_THAT(csv.out, StartsWith("series,workload,dataset,hardware,devices,local_batch_size,"));
  const Outcome json = joulescale({"report", dir.path(), "--no-html", "--format", "json"});
  const auto tables = nlohmann::json::parse(json.out).at("tables");
  EXPECT_EQ(tables.at("configurations").size(), 5U);
  EXPECT_EQ(tables.at("runs").size(), 8U);
  const Outcome fits =
      joulescale({"report", dir.path(), "--no-html", "--format", "csv", "--table", "fits"});
  EXPECT_THAT(fits.out, StartsWith("group,points,form,a_kwh_per_h,"));
}

TEST(ReportCommand, RunDirectoryAndSummaryFile) {
  const TempDir dir;
  write_runs(dir.path(), {testing::synthetic_run({})});
  const fs::path run = fs::directory_iterator(dir / "runs")->path();
  EXPECT_EQ(joulescale({"report", run, "--no-html"}).status, 0);
  const Outcome published = joulescale({"report", kPublished});
  EXPECT_EQ(published.status, 0);
  EXPECT_EQ(published.err, "");  // no page beside a file unless asked for
  EXPECT_THAT(published.out, HasSubstr("0.284996 h + 0.981469"));
}

TEST(ReportCommand, NoCompleteRunIsOneLineAndNoPage) {
  const TempDir dir;
  RunRecord run = testing::synthetic_run({});
  run.exit_status = 3;
  write_runs(dir.path(), {run});
  expect_refused(joulescale({"report", dir.path()}), 1, "no run is complete; 1 failed");
  EXPECT_FALSE(fs::exists(dir / "report.html"));
}

TEST(ReportCommand, EmptyOrMissingSourceIsOneLine) {
  const TempDir dir;
  expect_refused(joulescale({"report", dir.path()}), 2, dir.path().native());
  expect_refused(joulescale({"report", dir / "absent"}), 2, "absent");
  expect_refused(joulescale({"analyze", dir / "absent.csv"}), 2, "absent.csv");
  EXPECT_FALSE(fs::exists(dir / "report.html"));
}

TEST(ReportCommand, BadSummaryFileNamesItsPlace) {
  const TempDir dir;
  const fs::path file = dir / "bad.csv";
  std::ofstream(file) << "series,gpus,local_batch_size,global_batch_size,training_samples,"
                         "energy_kwh_mean,energy_kwh_std,gpu_hours_mean,gpu_hours_std\n"
                         "a,1,2,2,10,nan,0,1,0\n";
  expect_refused(joulescale({"report", file}), 2, "bad.csv:2:12: 'energy_kwh_mean' must be");
}

TEST(ReportCommand, PageThatCannotBeWrittenLeavesNothing) {
  const TempDir dir;
  const Outcome absent =
      joulescale({"report", kPublished, "--html", dir / "no-directory" / "page.html"});
  EXPECT_EQ(absent.status, 1);
  EXPECT_EQ(num_lines(absent.err), 1U) << absent.err;
  ProgramRun::Options full_disk;
  full_disk.max_file_bytes = 100'000;
  const Outcome full = joulescale({"report", kPublished, "--html", dir / "page.html"}, full_disk);
  EXPECT_EQ(full.status, 1);
  EXPECT_TRUE(fs::is_empty(dir.path()));
}

TEST(ReportCommand, FullStandardOutputIsAnError) {
  for (const std::string& arguments : {"report " + std::string(kPublished),
                                       std::string("--help"),
                                       std::string("monitor --help"),
                                       std::string("--version")}) {
    ProgramRun run(
        {"/bin/sh", "-c", JOULESCALE_BIN_DIR "/joulescale " + arguments + " >/dev/full"});
    EXPECT_EQ(run.wait(), 1) << arguments;
    EXPECT_THAT(run.err(), HasSubstr("standard output")) << arguments;
  }
}

TEST(ReportCommand, EstimatedStudySaysSoInEveryFormat) {
  const TempDir dir;
  write_runs(dir.path(), {testing::with_estimated_energy(testing::synthetic_run({}))});
  for (const char* format : {"table", "markdown", "latex"}) {
    const Outcome outcome = joulescale({"report", dir.path(), "--no-html", "--format", format});
    EXPECT_THAT(outcome.out, HasSubstr("energy (estimated)")) << format;
  }
  EXPECT_THAT(joulescale({"report", dir.path(), "--no-html", "--format", "csv"}).out,
              AllOf(HasSubstr("energy_with_estimates_kwh_mean"), Not(HasSubstr(",energy_kwh"))));
  EXPECT_THAT(joulescale({"report", dir.path(), "--no-html", "--format", "json"}).out,
              HasSubstr("\"energy_basis\": \"with_estimates\""));
}

TEST(AnalyzeCommand, JsonAndTable) {
  const auto analysis =
      nlohmann::json::parse(joulescale({"analyze", kPublished, "--format", "json"}).out);
  EXPECT_EQ(analysis.at("schema"), "joulescale.analysis/1");
  EXPECT_EQ(analysis.at("groups").back().at("points"), 17);
  const Outcome table = joulescale({"analyze", kPublished});
  EXPECT_EQ(table.status, 0);
  EXPECT_THAT(table.out, AllOf(HasSubstr("0.999635"), HasSubstr("speed-up")));
}

TEST(AnalyzeCommand, WrongOptionIsOneLine) {
  expect_refused(joulescale({"analyze", kPublished, "--format", "xml"}), 2, "--format");
}

}  // namespace
}  // namespace joulescale
