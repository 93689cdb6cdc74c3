// SPDX-License-Identifier: Apache-2.0
// Joining a launch and its directory.
#include "joulescale/monitor/launch.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "joulescale/base/file.h"

#include "tests/support/temp_dir.h"

namespace joulescale {
namespace {

namespace fs = std::filesystem;
using ::testing::Each;
using ::testing::HasSubstr;
using testing::TempDir;

LaunchInfo launch_of(const std::string& key, int expected_ranks) {
  LaunchInfo launch;
  launch.id = random_launch_id();
  launch.key = key;
  launch.alone = expected_ranks == 1;
  launch.launcher = "torchrun";
  launch.expected_ranks = expected_ranks;
  launch.command = {"train", "--lr", "0.1"};
  launch.started_at = "2026-01-01T00:00:00.000Z";
  launch.version = "1";
  return launch;
}

void expect_refused(const Result<JoinedLaunch>& result, const std::string& text) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(exit_status_of(result.error()), 2);
  EXPECT_THAT(result.error().text(), HasSubstr(text));
}

/// The default directories lie below the working directory.
class JoinLaunch : public ::testing::Test {
 protected:
  JoinLaunch() : before_(fs::current_path()) { fs::current_path(work_.path()); }
  ~JoinLaunch() override { fs::current_path(before_); }

  TempDir work_;
  fs::path before_;
};

TEST_F(JoinLaunch, TheFirstMakesAPrivateDirectoryTheOthersComeIn) {
  const auto first = join_launch("runs/mine", "x", launch_of("k", 2), 1);
  ASSERT_TRUE(first.ok()) << first.error().text();
  EXPECT_TRUE(first->made_directory);
  EXPECT_EQ(fs::status("runs/mine").permissions(), fs::perms::owner_all);
  const auto second = join_launch("runs/mine", "x", launch_of("k", 2), 0);
  ASSERT_TRUE(second.ok()) << second.error().text();
  EXPECT_FALSE(second->made_directory);
  EXPECT_EQ(second->launch.id, first->launch.id);
  EXPECT_EQ(second->rank, 0);
  const auto launch = parse_launch(read_file(first->directory.launch_file()).value());
  ASSERT_TRUE(launch.ok());
  EXPECT_EQ(launch->command, launch_of("k", 2).command);
}

TEST_F(JoinLaunch, RefusesWhatIsNotItsPlace) {
  ASSERT_TRUE(join_launch("run", "x", launch_of("k", 2), 1).ok());
  expect_refused(join_launch("run", "x", launch_of("k", 2), 1), "rank 1 is registered");
  expect_refused(join_launch("run", "x", launch_of("other", 2), 0), "another launch ('k'");
  expect_refused(join_launch("run", "x", launch_of("k", 3), 0), "of 2 ranks, this one has 3");
  std::ofstream("run/run.json") << "{}";
  expect_refused(join_launch("run", "x", launch_of("k", 2), 0), "has ended");
  std::ofstream("file") << "x";
  fs::create_directory("foreign");
  std::ofstream("foreign/notes.txt") << "x";
  expect_refused(join_launch("file", "x", launch_of("k", 1), 0), "is not a directory");
  expect_refused(join_launch("file/below", "x", launch_of("k", 1), 0), "file/below");
  expect_refused(join_launch("foreign", "x", launch_of("k", 1), 0), "not empty");
  EXPECT_TRUE(fs::exists("foreign/notes.txt"));
  EXPECT_FALSE(fs::exists("foreign/launch.json"));
}

TEST_F(JoinLaunch, WithARecurringKeyTheNthMonitorOfARankJoinsTheNthLaunch) {
  for (const char* expected :
       {"joulescale-runs/key", "joulescale-runs/key-2", "joulescale-runs/key-3"}) {
    for (const int rank : {1, 0}) {
      const auto joined = join_launch("", "key", launch_of("key", 2), rank);
      ASSERT_TRUE(joined.ok()) << joined.error().text();
      EXPECT_EQ(joined->directory.path, fs::current_path() / expected) << rank;
      EXPECT_EQ(joined->rank, rank);
    }
  }
}

TEST_F(JoinLaunch, AFinishedLaunchIsNotJoined) {
  const auto first = join_launch("", "key", launch_of("key", 2), 0);
  ASSERT_TRUE(first.ok());
  std::ofstream(first->directory.run_file())
      << "{}";  // its rank 1 never came: recovered without it
  const auto second = join_launch("", "key", launch_of("key", 2), 1);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->directory.path.filename(), "key-2");
}

TEST_F(JoinLaunch, ProcessesAloneNeverShare) {
  for (const char* expected : {"sleep", "sleep-2", "sleep-3"}) {
    const auto joined = join_launch("", "sleep", launch_of("alone", 1), 0);
    ASSERT_TRUE(joined.ok());
    EXPECT_EQ(joined->directory.path.filename(), expected);
  }
}

TEST_F(JoinLaunch, ManyAtOnceAgreeOnOneLaunch) {
  constexpr int kRanks = 32;
  std::atomic<int> waiting{kRanks};
  std::vector<Result<JoinedLaunch>> joined(kRanks, Error(ErrorCode::kIo, "not run"));
  std::vector<std::thread> threads;
  threads.reserve(kRanks);
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      const LaunchInfo mine = launch_of("key", kRanks);
      --waiting;
      while (waiting > 0) {
      }
      joined[static_cast<std::size_t>(rank)] = join_launch("", "key", mine, rank);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  std::vector<std::string> ids;
  for (const auto& result : joined) {
    ASSERT_TRUE(result.ok()) << result.error().text();
    ids.push_back(result->launch.id);
    EXPECT_EQ(result->directory.path.filename(), "key");
  }
  EXPECT_THAT(ids, Each(ids.front()));
}

TEST_F(JoinLaunch, LeavingTakesBackOnlyWhatNoOtherUses) {
  const auto first = join_launch("run", "x", launch_of("k", 2), 0);
  const auto second = join_launch("run", "x", launch_of("k", 2), 1);
  ASSERT_TRUE(first.ok() && second.ok());
  const auto node = create_node_directory(first->directory, "node");
  ASSERT_TRUE(node.ok());
  leave_launch(*first, *node);
  EXPECT_FALSE(fs::exists(first->directory.rank_file(0)));
  EXPECT_TRUE(fs::exists(second->directory.rank_file(1)));
  EXPECT_TRUE(fs::exists(second->directory.launch_file()));
  ASSERT_TRUE(join_launch("run", "x", launch_of("k", 2), 0).ok());
}

TEST_F(JoinLaunch, LeavingAloneLeavesNothing) {
  const auto joined = join_launch("run", "x", launch_of("k", 1), 0);
  ASSERT_TRUE(joined.ok());
  const auto node = create_node_directory(joined->directory, "node");
  ASSERT_TRUE(node.ok());
  leave_launch(*joined, *node);
  EXPECT_FALSE(fs::exists("run"));
}

TEST(LaunchFile, NamesOfKeysAreFileNames) {
  EXPECT_EQ(file_name_of("torchrun-none:127.0.0.1:29500"), "torchrun-none-127.0.0.1-29500");
  EXPECT_EQ(file_name_of("../../etc/passwd"), "launch..-..-etc-passwd");
  EXPECT_EQ(file_name_of(std::string(300, 'a')).size(), 100U);
}

}  // namespace
}  // namespace joulescale
