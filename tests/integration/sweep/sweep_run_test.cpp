// SPDX-License-Identifier: Apache-2.0
// joulescale sweep run with shell scripts as workloads: what it makes, repeats, refuses and says.
#include <sys/stat.h>

#include <algorithm>

#include <gmock/gmock.h>

#include "tests/integration/sweep/study_fixture.h"
#include "tests/support/count_of.h"

namespace joulescale {
namespace {

using testing::count_of;
using ::testing::HasSubstr;
using testing::ProgramRun;
using SweepRun = testing::StudyTest;
namespace fs = std::filesystem;

TEST_F(SweepRun, RunsEachConfigurationOnceAndRepeatsNothing) {
  write_study("echo \"ran $1 $2 $3 $4\"", 2);
  ASSERT_EQ(run_sweep(), 0) << err_;
  const auto first = records();
  EXPECT_EQ(first.size(), 6U);
  EXPECT_EQ(
      results(),
      "lbs 1 64 0 0\nlbs 1 64 1 0\ngbs 1 128 0 0\ngbs 1 128 1 0\nlbs 2 64 0 0\nlbs 2 64 1 0\n");
  EXPECT_EQ(ProgramRun::text_of(study_ / "study.toml"), ProgramRun::text_of(file_));
  EXPECT_THAT(ProgramRun::text_of(study_ / "logs/g2-lbs64-gbs128-r1.1.log"),
              HasSubstr("ran 2 64 128 1"));
  EXPECT_THAT(status_table(), HasSubstr("6 runs: 6 done"));
  ASSERT_EQ(run_sweep(), 0) << err_;
  EXPECT_EQ(records(), first);
  EXPECT_THAT(err_, HasSubstr("6 of 6 runs are done already"));
  ProgramRun by_directory({program_, "sweep", "run", study_.native()});
  EXPECT_EQ(by_directory.wait(), 0) << by_directory.err();
  EXPECT_EQ(records(), first);
  EXPECT_TRUE(nothing_runs());
}

TEST_F(SweepRun, TheCatalogueHoldsWhatTheRunDirectoriesHold) {
  write_study("exit 0");
  ASSERT_EQ(run_sweep(), 0) << err_;
  const auto catalogue = load_runs(study_ / "catalogue.sqlite");
  ASSERT_TRUE(catalogue) << catalogue.error().text();
  EXPECT_EQ(catalogue->runs.size(), 3U);
  fs::resize_file(study_ / "catalogue.sqlite", 5000);
  ASSERT_EQ(run_sweep(), 0) << err_;
  EXPECT_THAT(err_, HasSubstr("it is made anew from the run directories"));
  const auto again = load_runs(study_ / "catalogue.sqlite");
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_TRUE(again->problems.empty());
  EXPECT_EQ(again->runs.size(), 3U);
}

TEST_F(SweepRun, AFailingRunIsRetriedLoggedAndHoldsUpNoOther) {
  const std::string mended = (dir_ / "mended").native();
  write_study("echo trying; [ $1 = 2 ] && [ ! -e " + mended + " ] && exit 9; exit 0");
  EXPECT_EQ(run_sweep(), 1);
  EXPECT_THAT(err_, HasSubstr("failed: g2-lbs64-gbs128-r0: ended with status 9; see "));
  EXPECT_THAT(err_, HasSubstr("1 of 3 runs failed"));
  EXPECT_THAT(status_table(), HasSubstr("3 runs: 2 done, 1 failed"));
  for (const char* log : {"1", "2"}) {
    EXPECT_THAT(
        ProgramRun::text_of(study_ / "logs" / ("g2-lbs64-gbs128-r0." + std::string(log) + ".log")),
        HasSubstr("trying"));
  }
  EXPECT_TRUE(fs::exists(study_ / "attempts/g2-lbs64-gbs128-r0.1/run.json"));
  const auto before = records();
  std::ofstream(mended) << "yes";
  EXPECT_EQ(run_sweep(), 0) << err_;
  EXPECT_EQ(count_of(err_, ": started"), 1U) << err_;
  EXPECT_THAT(status_table(), HasSubstr("3 runs: 3 done"));
  EXPECT_EQ(records().at("g1-lbs64-gbs64-r0"), before.at("g1-lbs64-gbs64-r0"));
  EXPECT_TRUE(fs::exists(study_ / "attempts/g2-lbs64-gbs128-r0.2/run.json"));
}

TEST_F(SweepRun, StatusThatNoRetryMendsIsNotRetried) {
  write_study("exit 2");
  EXPECT_EQ(run_sweep(), 1);
  EXPECT_EQ(count_of(err_, ": started"), 3U) << err_;
}

TEST_F(SweepRun, BackgroundProcessesOfARunEndWithIt) {
  write_study("(trap '' TERM; while :; do sleep 9; done) & exit 0");
  EXPECT_EQ(run_sweep(), 0) << err_;
  EXPECT_TRUE(nothing_runs());
}

TEST_F(SweepRun, AwkwardNamesAndArgumentsArriveUnchanged) {
  study_ = dir_ / "a b;'c(1)\"[x]$";
  write_study("exit 0");
  std::ofstream(file_, std::ios::app).flush();
  const std::string argument = R"($HOME \"x\" \\)";  // as TOML has it
  std::ofstream(file_)
      << "schema = \"joulescale.study/1\"\nname = \"</script>'\\\"&\"\n[workload]\n"
         "kind = \"command\"\nargv = [\"printf\", \"%s|\", \""
      << argument
      << "\", \"{run_dir}\"]\n[[series]]\nname = \"a/b\"\ndevices = 1\n"
         "local_batch_size = 1\n";
  ASSERT_EQ(run_sweep(), 0) << err_;
  EXPECT_THAT(ProgramRun::text_of(study_ / "logs/g1-lbs1-gbs1-r0.1.log"),
              HasSubstr("$HOME \"x\" \\|" + (study_ / "runs/g1-lbs1-gbs1-r0").native() + "|"));
  const auto loaded = load_runs(study_);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->runs[0].study->name, "</script>'\"&");
}

TEST_F(SweepRun, AnotherStudyIsRefusedAndAddedRunsAreNot) {
  write_study("exit 0");
  ASSERT_EQ(run_sweep(), 0) << err_;
  const auto before = records();
  const std::string original = ProgramRun::text_of(file_);
  std::string changed = original;
  changed.replace(changed.find("\"demo\""), 6, "\"other\"");
  std::ofstream(file_) << changed;
  EXPECT_EQ(run_sweep(), 2);
  EXPECT_THAT(err_, HasSubstr("holds another study: its name is 'demo', not 'other'"));
  changed = original;
  changed.replace(changed.find("local_batch_size = 64"), 21, "local_batch_size = 32");
  std::ofstream(file_) << changed;
  EXPECT_EQ(run_sweep(), 2);
  EXPECT_THAT(err_, HasSubstr("its run g1-lbs64-gbs64-r0 is not in the new file"));
  EXPECT_EQ(ProgramRun::text_of(study_ / "study.toml"), original);
  std::ofstream(file_) << original
                       << "[[series]]\nname = \"more\"\ndevices = [1, 4]\nlocal_batch_size = 64\n";
  EXPECT_EQ(run_sweep(), 0) << err_;
  auto after = records();
  EXPECT_EQ(after.erase("g4-lbs64-gbs256-r0"), 1U);
  EXPECT_EQ(after, before);
  const auto loaded = load_runs(study_);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->runs[0].study->more_series, std::vector<std::string>{"more"});
}

TEST_F(SweepRun, MistakesAreOneLineAndMakeNothing) {
  write_study("exit 0", 0);
  EXPECT_EQ(run_sweep(), 2);
  EXPECT_EQ(err_,
            "joulescale sweep: " + file_.native() +
                ":3: repetitions: 0 is not allowed; allowed: a whole number from 1 to 1000\n");
  EXPECT_FALSE(fs::exists(study_));
  write_study("exit 0");
  std::string text = ProgramRun::text_of(file_);
  text.replace(text.find("\"sh\""), 4, "\"no-such-program\"");
  std::ofstream(file_) << text;
  EXPECT_EQ(run_sweep(), 2);
  EXPECT_THAT(err_, HasSubstr("toml:5: workload.argv: 'no-such-program' is no program"));
  EXPECT_EQ(count_of(err_, "\n"), 1U);
  EXPECT_FALSE(fs::exists(study_));
  ProgramRun no_output({program_, "sweep", "run", file_.native()});
  EXPECT_EQ(no_output.wait(), 2);
  EXPECT_THAT(no_output.err(), HasSubstr("--output DIR is missing"));
  ProgramRun no_study({program_, "sweep", "run", dir_.path().native()});
  EXPECT_EQ(no_study.wait(), 2);
  EXPECT_THAT(no_study.err(), HasSubstr("holds no study"));
}

TEST_F(SweepRun, OutputThatCannotBeUsedIsOneLine) {
  write_study("exit 0");
  fs::create_directories(study_);
  std::ofstream(study_ / "notes.txt") << "mine";
  EXPECT_EQ(run_sweep(), 2);
  EXPECT_THAT(err_, HasSubstr("is not empty and holds no study"));
  study_ = study_ / "notes.txt" / "below";
  EXPECT_EQ(run_sweep(), 2);
  EXPECT_EQ(count_of(err_, "\n"), 1U) << err_;
  EXPECT_THAT(err_, HasSubstr("Not a directory"));
}

TEST_F(SweepRun, AFullDiskIsOneLineAndLeavesNothingHalfWritten) {
  write_study("exit 0");
  ProgramRun::Options options;
  options.max_file_bytes = 100;
  ProgramRun run(sweep_run(), options);
  EXPECT_EQ(run.wait(), 2);
  EXPECT_EQ(count_of(run.err(), "\n"), 1U) << run.err();
  EXPECT_THAT(run.err(), HasSubstr("File too large"));
  EXPECT_FALSE(fs::exists(study_));
}

TEST_F(SweepRun, ASecondSweepIsToldWhoHoldsTheStudy) {
  write_study("sleep 1");
  ProgramRun first(sweep_run());
  ASSERT_TRUE(
      testing::eventually([&] { return fs::exists(study_ / "logs/g1-lbs64-gbs64-r0.1.log"); }));
  EXPECT_THAT(status_table(), HasSubstr("running"));
  EXPECT_EQ(run_sweep(), 2);
  EXPECT_THAT(err_, HasSubstr("is in use by process " + std::to_string(first.pid())));
  EXPECT_EQ(count_of(err_, "\n"), 1U);
  EXPECT_EQ(first.wait(), 0) << first.err();
  EXPECT_EQ(records().size(), 3U);
}

TEST_F(SweepRun, ResumeRunsWhatIsMissingAndOnlyThat) {
  write_study("exit 0", 2);
  ASSERT_EQ(run_sweep(), 0) << err_;
  // 3 done, 1 failed, 1 killed before its first record, 1 not started (pitfall R9).
  std::string failed = records().at("g1-lbs128-gbs128-r0");
  failed.replace(failed.find("\"exit_status\": 0"), 16, "\"exit_status\": 1");
  std::ofstream(study_ / "runs/g1-lbs128-gbs128-r0/run.json") << failed;
  fs::remove(study_ / "logs/g1-lbs128-gbs128-r0.1.json");
  fs::remove(study_ / "runs/g1-lbs64-gbs64-r1/run.json");
  fs::remove(study_ / "logs/g1-lbs64-gbs64-r1.1.json");
  fs::remove_all(study_ / "runs/g2-lbs64-gbs128-r1");
  fs::remove(study_ / "logs/g2-lbs64-gbs128-r1.1.json");
  fs::remove(study_ / "logs/g2-lbs64-gbs128-r1.1.log");
  EXPECT_THAT(status_table(), HasSubstr("6 runs: 3 done, 1 failed, 1 interrupted, 1 planned"));
  const auto before = records();
  ASSERT_EQ(run_sweep(), 0) << err_;
  EXPECT_EQ(count_of(err_, ": started"), 3U) << err_;
  for (const char* run : {"g1-lbs64-gbs64-r0", "g2-lbs64-gbs128-r0", "g1-lbs128-gbs128-r1"}) {
    EXPECT_EQ(records().at(run), before.at(run));
  }
  ASSERT_EQ(run_sweep(), 0);
  EXPECT_EQ(count_of(err_, ": started"), 0U) << err_;
}

TEST_F(SweepRun, PlanShowsRunsMergesAndWhatIsDone) {
  write_study("exit 0");
  ASSERT_EQ(run_sweep(), 0) << err_;
  fs::remove_all(study_ / "runs/g2-lbs64-gbs128-r0");
  ProgramRun plan({program_, "sweep", "plan", file_.native(), "--output", study_.native()});
  EXPECT_EQ(plan.wait(), 0);
  EXPECT_THAT(plan.out(), HasSubstr("3 runs of 3 configurations, 2 done already"));
  EXPECT_THAT(plan.out(),
              HasSubstr("merged: series 'gbs': g2-lbs64-gbs128 is run once, with series 'lbs'"));
  ProgramRun json({program_, "sweep", "plan", file_.native(), "--format", "json"});
  EXPECT_EQ(json.wait(), 0);
  EXPECT_THAT(json.out(), HasSubstr("\"num_runs\": 3"));
  EXPECT_THAT(json.out(), HasSubstr("\"monitor\""));
  ProgramRun config({program_, "sweep", "plan", file_.native(), "--print-config"});
  EXPECT_EQ(config.wait(), 0);
  EXPECT_THAT(config.out(), HasSubstr("\"retries\": 1"));
}

}  // namespace
}  // namespace joulescale
