// SPDX-License-Identifier: Apache-2.0
#include "joulescale/sweep/study_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "joulescale/base/file.h"
#include "joulescale/record/run_json.h"
#include "joulescale/sweep/study_lock.h"

#include "tests/support/run_example.h"
#include "tests/support/temp_dir.h"

namespace joulescale {
namespace {

using ::testing::HasSubstr;
using testing::TempDir;
namespace fs = std::filesystem;

class StudyDirectoryTest : public ::testing::Test {
 protected:
  StudyDirectoryTest() {
    spec_.name = "demo";
    spec_.workload.argv = {"true"};
    spec_.series = {{"s", {{2, 64, 1}}, 1}};
    run_ = make_plan(spec_).runs.front();
  }

  /// A record as the monitor would write it for run_.
  RunRecord record() const {
    RunRecord record = testing::example_run("id", 2, 64);
    record.study = study_record(spec_, run_);
    return record;
  }
  void write_record(const RunRecord& record) const {
    testing::write_run(directory_.run_directory(run_.name), record);
  }
  void begin_attempt(int number) const {
    ASSERT_TRUE(write_file_atomic(directory_.log_file(run_.name, number), "log"));
  }
  RunState state() const { return directory_.inspect(spec_, run_).state; }

  TempDir dir_;
  StudySpec spec_;
  PlannedRun run_;
  StudyDirectory directory_{dir_ / "study"};
};

TEST_F(StudyDirectoryTest, StateComesFromEvidence) {
  EXPECT_EQ(state(), RunState::kPlanned);
  ASSERT_TRUE(directory_.open_for_writing());
  EXPECT_EQ(state(), RunState::kPlanned);
  begin_attempt(1);
  EXPECT_EQ(state(), RunState::kInterrupted);
  fs::create_directories(directory_.run_directory(run_.name));
  EXPECT_EQ(state(), RunState::kInterrupted);
  ASSERT_TRUE(directory_.finish_attempt(run_.name, 1, {143, true}));
  EXPECT_EQ(state(), RunState::kInterrupted);
  ASSERT_TRUE(directory_.finish_attempt(run_.name, 1, {3, false}));
  EXPECT_EQ(state(), RunState::kFailed);
  EXPECT_THAT(directory_.inspect(spec_, run_).detail, HasSubstr("ended with status 3; see "));
  write_record(record());
  EXPECT_EQ(state(), RunState::kDone);
}

TEST_F(StudyDirectoryTest, OnlyAWholeSuccessfulRecordOfTheConfigurationIsDone) {
  RunRecord other = record();
  other.exit_status = 1;
  write_record(other);
  EXPECT_EQ(state(), RunState::kFailed);
  other = record();
  other.study->axes["devices"] = std::int64_t{3};
  write_record(other);
  EXPECT_EQ(state(), RunState::kFailed);
  EXPECT_THAT(directory_.inspect(spec_, run_).detail, HasSubstr("another configuration"));
  other = record();
  other.study->repetition = 1;
  write_record(other);
  EXPECT_EQ(state(), RunState::kFailed);
  other = record();
  other.training.emplace().seed = 99;
  write_record(other);
  EXPECT_EQ(state(), RunState::kFailed);
  other.training->seed = run_.seed;
  write_record(other);
  EXPECT_EQ(state(), RunState::kDone);
  const std::string whole = format_run_record(other);
  const fs::path file = directory_.run_directory(run_.name) / "run.json";
  for (std::size_t size = 0; size + 2 < whole.size(); size += 31) {
    ASSERT_TRUE(write_file_atomic(file, whole.substr(0, size)));
    EXPECT_EQ(state(), RunState::kInterrupted) << size;
  }
}

TEST_F(StudyDirectoryTest, EarlierAttemptsAreKept) {
  ASSERT_TRUE(directory_.open_for_writing());
  EXPECT_EQ(directory_.attempts(run_.name), 0);
  ASSERT_TRUE(directory_.move_earlier_attempt_aside(run_.name));
  for (int attempt = 1; attempt <= 3; ++attempt) {
    begin_attempt(attempt);
    write_record(record());
    ASSERT_TRUE(directory_.move_earlier_attempt_aside(run_.name));
    EXPECT_FALSE(fs::exists(directory_.run_directory(run_.name)));
    EXPECT_TRUE(fs::exists(directory_.path() / "attempts" /
                           (run_.name + "." + std::to_string(attempt)) / "run.json"));
  }
  write_record(record());  // one without a log
  ASSERT_TRUE(directory_.move_earlier_attempt_aside(run_.name));
  EXPECT_EQ(directory_.attempts(run_.name), 4);
}

TEST_F(StudyDirectoryTest, AttemptsOfRunsWithSimilarNamesAreApart) {
  ASSERT_TRUE(directory_.open_for_writing());
  ASSERT_TRUE(write_file_atomic(directory_.log_file(run_.name + "0", 7), ""));
  ASSERT_TRUE(write_file_atomic(directory_.log_file(run_.name + ".x", 8), ""));
  EXPECT_EQ(directory_.attempts(run_.name), 0);
}

TEST_F(StudyDirectoryTest, TheConfigurationIsKeptAndRemembersWhereRunsStart) {
  ASSERT_TRUE(directory_.open_for_writing());
  EXPECT_FALSE(directory_.exists());
  ASSERT_TRUE(directory_.write_study("the text", spec_, "/some/where"));
  EXPECT_TRUE(directory_.exists());
  EXPECT_EQ(*read_file(directory_.study_file()), "the text");
  EXPECT_EQ(*directory_.working_directory(), "/some/where");
  ASSERT_TRUE(write_file_atomic(directory_.path() / "config.json", "{"));
  EXPECT_EQ(exit_status_of(directory_.working_directory().error()), 2);
}

TEST_F(StudyDirectoryTest, ADirectoryOfSomebodyElseIsLeftAlone) {
  fs::create_directories(dir_ / "study/other");
  const auto opened = directory_.open_for_writing();
  ASSERT_FALSE(opened);
  EXPECT_EQ(exit_status_of(opened.error()), 2);
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_ / "study"), {}), 1);
}

TEST_F(StudyDirectoryTest, WhatAKilledBeginningLeftIsTakenUp) {
  fs::create_directories(dir_ / "study/runs");
  ASSERT_TRUE(write_file_atomic(dir_ / "study/config.json", "{}"));
  ASSERT_TRUE(write_file_atomic(dir_ / "study/.study.toml.12.tmp", "x"));
  EXPECT_TRUE(directory_.open_for_writing());
}

TEST(StudyLock, TheHolderIsNamedAndALockIsSeen) {
  const TempDir dir;
  EXPECT_FALSE(is_locked(dir / ".lock"));
  auto held = lock_study(dir / ".lock", Nanoseconds(0));
  ASSERT_TRUE(held);
  EXPECT_TRUE(is_locked(dir / ".lock"));
  const auto second = lock_study(dir / ".lock", Nanoseconds(0));
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().text(), HasSubstr("in use by process " + std::to_string(::getpid())));
  held->reset();
  EXPECT_FALSE(is_locked(dir / ".lock"));
  EXPECT_TRUE(lock_study(dir / ".lock", Nanoseconds(0)));
}

}  // namespace
}  // namespace joulescale
