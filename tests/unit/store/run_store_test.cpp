// SPDX-License-Identifier: Apache-2.0
#include "joulescale/store/run_store.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "joulescale/base/file.h"
#include "joulescale/record/run_json.h"
#include "joulescale/store/run_directories.h"
#include "joulescale/store/sqlite/catalogue.h"

#include "tests/support/run_example.h"
#include "tests/support/temp_dir.h"

namespace joulescale {
namespace {

using testing::example_run;
using ::testing::HasSubstr;
using testing::TempDir;
using testing::write_run;

std::vector<std::string> ids(const Result<LoadedRuns>& loaded) {
  std::vector<std::string> found;
  if (loaded) {
    for (const RunRecord& run : loaded->runs) {
      found.push_back(run.id);
    }
  }
  return found;
}

/// Three runs, whose directory names do not follow the order of their devices.
void write_study(const std::filesystem::path& study) {
  write_run(study / "runs/a", example_run("run-4", 4, 64));
  write_run(study / "runs/b", example_run("run-1", 1, 64));
  write_run(study / "runs/c", example_run("run-2", 2, 64));
}

const std::vector<std::string> kOrdered = {"run-1", "run-2", "run-4"};

TEST(RunStore, ReadsEveryKindOfSourceInTheSameOrder) {
  const TempDir dir;
  write_study(dir / "study");
  ASSERT_TRUE(write_catalogue(dir / "copy.sqlite", read_run_directories(dir / "study").runs));
  EXPECT_EQ(ids(load_runs(dir / "study")), kOrdered);
  EXPECT_EQ(ids(load_runs(dir / "study/runs")), kOrdered);
  EXPECT_EQ(ids(load_runs(dir / "copy.sqlite")), kOrdered);
  EXPECT_EQ(ids(load_runs(dir / "study/runs/b")), std::vector<std::string>{"run-1"});
  EXPECT_EQ(ids(load_runs(dir / "study/runs/b/run.json")), std::vector<std::string>{"run-1"});
}

TEST(RunStore, UnreadableUnfinishedAndRepeatedRunsAreProblems) {
  const TempDir dir;
  write_study(dir.path());
  write_run(dir / "runs/d", example_run("run-1", 1, 64));
  std::filesystem::create_directories(dir / "runs/e");
  write_run(dir / "runs/f", example_run("run-6", 1, 64));
  ASSERT_TRUE(write_file_atomic(dir / "runs/f/run.json", "{\"schema\": \"joulesc"));
  const auto loaded = load_runs(dir.path());
  ASSERT_TRUE(loaded);
  EXPECT_EQ(ids(loaded), kOrdered);
  ASSERT_EQ(loaded->problems.size(), 3U);
  EXPECT_THAT(loaded->problems[0], HasSubstr("runs/e' has no run.json"));
  EXPECT_THAT(loaded->problems[1], HasSubstr("runs/f/run.json: not valid JSON"));
  EXPECT_THAT(loaded->problems[2], HasSubstr("'runs/d' holds run run-1 once more"));
}

TEST(RunStore, SourcesWithoutRunsAreErrorsThatSayWhatIsExpected) {
  const TempDir dir;
  EXPECT_THAT(load_runs(dir.path()).error().text(), HasSubstr("holds no finished run"));
  EXPECT_THAT(load_runs(dir / "absent").error().text(), HasSubstr("does not exist"));
  ASSERT_TRUE(write_file_atomic(dir / "notes.txt", "a text of more than sixteen bytes"));
  const auto text = load_runs(dir / "notes.txt");
  EXPECT_THAT(text.error().text(), HasSubstr("is no catalogue"));
  EXPECT_EQ(exit_status_of(text.error()), 2);
}

TEST(RunStore, SeriesAddedToTheStudyLaterShowInFinishedRuns) {
  const TempDir dir;
  write_study(dir.path());
  StudyRecord study = *example_run("run-1", 1, 64).study;
  study.more_series = {"second"};
  std::filesystem::create_directories(dir / "study");
  ASSERT_TRUE(write_file_atomic(dir / "study/b.json", format_study_record(study)));
  study.axes["devices"] = std::int64_t{7};  // of another configuration: must not be taken
  ASSERT_TRUE(write_file_atomic(dir / "study/c.json", format_study_record(study)));
  const auto loaded = load_runs(dir.path());
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->runs[0].study->more_series, std::vector<std::string>{"second"});
  EXPECT_TRUE(loaded->runs[1].study->more_series.empty());
}

TEST(Catalogue, HoldsTheRecordsUnchanged) {
  const TempDir dir;
  write_study(dir.path());
  const StoredRuns stored = read_run_directories(dir.path());
  ASSERT_TRUE(write_catalogue(dir / "catalogue.sqlite", stored.runs));
  const auto read = read_catalogue(dir / "catalogue.sqlite");
  ASSERT_TRUE(read) << read.error().text();
  ASSERT_EQ(read->size(), 3U);
  EXPECT_EQ(read->front().json, stored.runs.front().json);
  EXPECT_EQ(read->front().directory, "runs/b");
}

TEST(Catalogue, OrdinarySqlReadsItsColumns) {
  const TempDir dir;
  RunRecord run = example_run("run-1", 2, 32);
  run.study->more_series = {"second"};
  run.training.emplace().top1_error = 19.5;
  write_run(dir / "runs/a", run);
  const std::string file = (dir / "catalogue.sqlite").native();
  ASSERT_TRUE(write_catalogue(file, read_run_directories(dir.path()).runs));
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open_v2(file.c_str(), &database, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
  std::string row;
  const auto collect = [](void* out, int count, char** values, char**) {
    for (int i = 0; i < count; ++i) {
      *static_cast<std::string*>(out) += std::string(values[i] ? values[i] : "NULL") + " ";
    }
    return 0;
  };
  EXPECT_EQ(sqlite3_exec(database,
                         "SELECT devices, local_batch_size, global_batch_size, energy_total_j, "
                         "energy_estimated_j, top1_error_percent, signal, version, m.series FROM "
                         "runs JOIN series_members m ON m.run_id = id ORDER BY m.series",
                         collect,
                         &row,
                         nullptr),
            SQLITE_OK);
  sqlite3_close(database);
  EXPECT_EQ(row,
            "2 32 64 100.0 NULL 19.5 NULL NULL first 2 32 64 100.0 NULL 19.5 NULL NULL second ");
}

TEST(Catalogue, EveryTruncationIsSeenAndTheRunDirectoriesAreReadInstead) {
  const TempDir dir;
  write_study(dir.path());
  ASSERT_TRUE(write_catalogue(dir / "catalogue.sqlite", read_run_directories(dir.path()).runs));
  const std::string whole = *read_file(dir / "catalogue.sqlite");
  for (std::size_t size = 0; size < whole.size(); size += 509) {
    ASSERT_TRUE(write_file_atomic(dir / "catalogue.sqlite", whole.substr(0, size)));
    const auto loaded = load_runs(dir / "catalogue.sqlite");
    ASSERT_TRUE(loaded) << size << " " << loaded.error().text();
    EXPECT_EQ(ids(loaded), kOrdered) << size;
    ASSERT_EQ(loaded->problems.size(), 1U) << size;
    EXPECT_THAT(loaded->problems[0], HasSubstr("is damaged")) << size;
  }
}

TEST(Catalogue, OtherDatabasesAndNewerVersionsAreRefused) {
  const TempDir dir;
  const std::string file = (dir / "other.sqlite").native();
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
  sqlite3_exec(database, "CREATE TABLE t(x)", nullptr, nullptr, nullptr);
  EXPECT_THAT(read_catalogue(file).error().text(), HasSubstr("no catalogue of joulescale"));
  sqlite3_exec(database,
               "PRAGMA application_id = 1785689452; PRAGMA user_version = 9",
               nullptr,
               nullptr,
               nullptr);
  sqlite3_close(database);
  EXPECT_THAT(read_catalogue(file).error().text(), HasSubstr("has version 9"));
}

TEST(Catalogue, WritingToAFolderThatIsAFileLeavesNothing) {
  const TempDir dir;
  ASSERT_TRUE(write_file_atomic(dir / "file", "x"));
  EXPECT_FALSE(write_catalogue(dir / "file/catalogue.sqlite", {}));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 1);
}

}  // namespace
}  // namespace joulescale
