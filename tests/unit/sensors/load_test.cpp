// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "joulescale/sensors/load/load_sensor.h"

#include "tests/support/fake_clock.h"
#include "tests/support/temp_dir.h"

namespace joulescale {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FakeClock;
using ::testing::HasSubstr;
using testing::TempDir;

constexpr pid_t kMonitor = 100;
constexpr pid_t kWitness = 101;
constexpr int kOldKernel = 0;  // without task/*/children
constexpr int kNewKernel = 1;

/// A /proc of made-up processes.
class FakeProc {
 public:
  struct Use {
    int own_ticks = 0;
    int child_ticks = 0;
    int rss_pages = 0;
    int start_ticks = 1;
  };

  fs::path root() const { return directory_.path(); }

  void set_process(pid_t pid, pid_t parent, const Use& use) {
    const fs::path folder = process(pid);
    fs::create_directories(folder);
    std::ofstream(folder / "stat")
        << pid << " (a) b) " << "S " << parent << " 1 1 0 -1 4194304 10 0 0 0 " << use.own_ticks
        << " 0 " << use.child_ticks << " 0 20 0 1 0 " << use.start_ticks << " 1000000 "
        << use.rss_pages << " 18446744073709551615\n";
  }
  void set_children(pid_t pid, pid_t thread, const std::string& children) {
    const fs::path folder = process(pid) / "task" / std::to_string(thread);
    fs::create_directories(folder);
    std::ofstream(folder / "children") << children;
  }
  void end_process(pid_t pid) { fs::remove_all(process(pid)); }
  void set_node(int user_ticks, int system_ticks, int available_kib) const {
    fs::create_directories(root() / "proc");
    std::ofstream(root() / "proc/stat")
        << "cpu  " << user_ticks << " 0 " << system_ticks << " 5000 0 0 0 0 0 0\ncpu0 1 1\n";
    std::ofstream(root() / "proc/meminfo")
        << "MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: " << available_kib << " kB\n";
  }

 private:
  fs::path process(pid_t pid) const { return root() / "proc" / std::to_string(pid); }
  TempDir directory_;
};

class LoadTest : public ::testing::TestWithParam<int> {
 protected:
  LoadTest() {
    proc_.set_node(1000, 500, 400);
    proc_.set_process(kMonitor, 1, {7, 0, 50});
    proc_.set_process(kWitness, kMonitor, {1000, 0, 5000});
    proc_.set_process(200, kMonitor, {10, 5, 100});   // the command
    proc_.set_process(201, 200, {20, 0, 200});        // of its second thread
    proc_.set_process(202, 201, {30, 0, 300});        // a grandchild
    proc_.set_process(300, kMonitor, {40, 0, 400});   // an orphan that came to the monitor
    proc_.set_process(999, 1, {5000, 5000, 100000});  // somebody else's
    if (GetParam() == kNewKernel) {
      proc_.set_children(kMonitor, kMonitor, "101 200 300 ");
      proc_.set_children(200, 200, "");
      proc_.set_children(200, 210, "201");
      proc_.set_children(201, 201, "202 ");
    }
  }

  std::vector<RawReading> readings() {
    std::vector<RawReading> readings(sensor_.channels().size());
    clock_.advance(std::chrono::seconds(1));
    sensor_.read(readings);
    return readings;
  }
  std::vector<std::uint64_t> read() {
    std::vector<std::uint64_t> values;
    for (const RawReading& reading : readings()) {
      EXPECT_EQ(reading.status, ReadStatus::kOk);
      values.push_back(reading.raw);
    }
    return values;
  }
  std::uint64_t tree_cpu_us() {
    const RawReading reading = readings()[2];
    EXPECT_EQ(reading.status, ReadStatus::kOk);
    return reading.raw;
  }

  static std::uint64_t us(std::uint64_t ticks) {
    return ticks * 1'000'000 / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  }

  FakeProc proc_;
  FakeClock clock_;
  LoadSensor sensor_{proc_.root(), RankProcesses{3, kMonitor, kWitness}, clock_};
};

TEST_P(LoadTest, NodeAndTheCommandsProcesses) {
  ASSERT_TRUE(sensor_.open().ok());
  std::vector<std::string> names;
  for (const Channel& channel : sensor_.channels()) {
    names.push_back(channel.name);
    EXPECT_TRUE(is_consistent(channel));
    EXPECT_EQ(channel.quantity, Quantity::kMetric);
  }
  EXPECT_THAT(names,
              ElementsAre("load/node/cpu_time",
                          "load/node/memory_used",
                          "load/rank-3/cpu_time",
                          "load/rank-3/rss"));
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  EXPECT_THAT(
      read(),
      ElementsAre(
          us(1500), 600U * 1024U, us(10 + 5 + 20 + 30 + 40), page * (100 + 200 + 300 + 400)))
      << "neither the monitor, nor its witness, nor strangers";
}

TEST_P(LoadTest, EndedAndWaitedForProcessesCountOnce) {
  ASSERT_TRUE(sensor_.open().ok());
  EXPECT_EQ(tree_cpu_us(), us(105));
  proc_.end_process(202);
  EXPECT_EQ(tree_cpu_us(), us(105)) << "ended, and not waited for yet";
  proc_.set_process(201, 200, {20, 30, 200});
  EXPECT_EQ(tree_cpu_us(), us(105)) << "its time is in its parent's now";
  proc_.set_process(201, 200, {25, 30, 200});
  EXPECT_EQ(tree_cpu_us(), us(110));
  // All is over: what the monitor waited for holds everything.
  proc_.set_process(kMonitor, 1, {9, 160, 50});
  for (const pid_t pid : {200, 201, 300}) {
    proc_.end_process(pid);
  }
  EXPECT_EQ(tree_cpu_us(), us(160));
  EXPECT_EQ(readings()[3].status, ReadStatus::kMissing) << "no process, no memory";
}

TEST_P(LoadTest, NewProcessesAreFoundAndReusedNumbersAreNot) {
  ASSERT_TRUE(sensor_.open().ok());
  EXPECT_EQ(tree_cpu_us(), us(105));
  proc_.set_process(203, 201, {100, 0, 1});
  proc_.set_children(201, 201, "202 203 ");
  if (GetParam() == kOldKernel) {
    fs::remove_all(proc_.root() / "proc/201/task");
  }
  EXPECT_EQ(tree_cpu_us(), us(205));
  proc_.end_process(202);
  proc_.set_process(202, 1, {7777, 0, 1, 50});  // a stranger with the number of an ended one
  proc_.set_children(201, 201, "203 ");
  EXPECT_EQ(tree_cpu_us(), us(205));
}

TEST_P(LoadTest, AReadingAfterReopeningGoesOn) {
  ASSERT_TRUE(sensor_.open().ok());
  EXPECT_EQ(tree_cpu_us(), us(105));
  sensor_.close();
  proc_.end_process(300);
  ASSERT_TRUE(sensor_.open().ok());
  EXPECT_EQ(tree_cpu_us(), us(105)) << "never falls";
}

TEST_P(LoadTest, AnotherRankReadsTheNode) {
  sensor_.share([](const std::string&) { return false; }, {});
  ASSERT_TRUE(sensor_.open().ok());
  ASSERT_EQ(sensor_.channels().size(), 2U);
  EXPECT_EQ(sensor_.channels()[0].name, "load/rank-3/cpu_time");
  EXPECT_THAT(sensor_.elsewhere(), ElementsAre("load"));
}

/// Every look at it takes 2 ms, as on a slow machine with many processes.
class SlowClock final : public Clock {
 public:
  Nanoseconds monotonic_now() const override { return now_ += std::chrono::milliseconds(2); }
  Nanoseconds wall_now() const override { return monotonic_now(); }
  void sleep_until(Nanoseconds monotonic_deadline) override {
    now_ = std::max(now_, monotonic_deadline);
  }

 private:
  mutable Nanoseconds now_{std::chrono::seconds(1000)};
};

TEST_P(LoadTest, TheCommandIsFoundSoonAfterItsStartHoweverSlowTheSearch) {
  SlowClock clock;
  FakeProc proc;
  proc.set_node(1000, 500, 400);
  proc.set_process(kMonitor, 1, {7, 0, 50});
  if (GetParam() == kNewKernel) {
    proc.set_children(kMonitor, kMonitor, "");
  }
  LoadSensor sensor(proc.root(), RankProcesses{3, kMonitor, kWitness}, clock);
  ASSERT_TRUE(sensor.open().ok());
  proc.set_process(200, kMonitor, {10, 0, 100});
  if (GetParam() == kNewKernel) {
    proc.set_children(kMonitor, kMonitor, "200 ");
  }
  clock.sleep_until(clock.monotonic_now() + std::chrono::seconds(1));
  std::vector<RawReading> readings(sensor.channels().size());
  sensor.read(readings);
  EXPECT_EQ(readings.at(3).status, ReadStatus::kOk);
}

INSTANTIATE_TEST_SUITE_P(Kernels,
                         LoadTest,
                         ::testing::Values(kOldKernel, kNewKernel),
                         [](const auto& kernel) {
                           return kernel.param == kNewKernel ? "ChildrenFiles" : "Scan";
                         });

TEST(LoadSensor, PartsThatCannotBeReadAreLeftOut) {
  const TempDir root;
  FakeClock clock;
  LoadSensor nothing(root.path(), RankProcesses{0, kMonitor, 0}, clock);
  const auto opened = nothing.open();
  ASSERT_FALSE(opened.ok());
  EXPECT_THAT(opened.error().text(), HasSubstr("no CPU time"));
  FakeProc proc;
  proc.set_node(1, 2, 3);
  LoadSensor node(proc.root(), RankProcesses{0, kMonitor, 0}, clock);
  ASSERT_TRUE(node.open().ok());
  EXPECT_EQ(node.channels().size(), 2U);
  EXPECT_THAT(node.notes(), Contains(HasSubstr("command's processes")));
}

TEST(ProcessStat, DamagedTextsAreNothing) {
  const std::string good =
      "7 (x) S 3 1 1 0 -1 0 1 0 0 0 11 12 13 14 20 0 1 0 99 1000 55 18446744073709551615\n";
  const auto stat = parse_process_stat(good);
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->parent, 3);
  EXPECT_EQ(stat->own_ticks, 23U);
  EXPECT_EQ(stat->child_ticks, 27U);
  EXPECT_EQ(stat->start_ticks, 99U);
  EXPECT_EQ(stat->rss_pages, 55U);
  for (std::size_t size = 0; size < good.find(" 55 "); ++size) {
    EXPECT_FALSE(parse_process_stat(good.substr(0, size))) << size;
  }
  EXPECT_FALSE(parse_process_stat("7 (x) S -3 1 1 0 -1 0 1 0 0 0 -11 12 13 14 20 0 1 0 99 1 5 1"));
}

}  // namespace
}  // namespace joulescale
