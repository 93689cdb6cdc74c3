// SPDX-License-Identifier: Apache-2.0
// A sweep that is stopped or killed at any moment leaves no process, and resumed it ends with the
// same table, without repeating what was complete.
#include <random>

#include <gmock/gmock.h>

#include "tests/integration/sweep/study_fixture.h"

namespace joulescale {
namespace {

using testing::eventually;
using ::testing::HasSubstr;
using testing::ProgramRun;
using SweepInterruption = testing::StudyTest;
namespace fs = std::filesystem;

constexpr const char* kResults =
    "lbs 1 64 0 0\nlbs 1 64 1 0\ngbs 1 128 0 0\ngbs 1 128 1 0\nlbs 2 64 0 0\nlbs 2 64 1 0\n";

constexpr int kKills = 20;
constexpr int kMaxDelayMilliseconds = 1200;

/// Complete runs, by name: only they may not change.
std::map<std::string, std::string> complete(std::map<std::string, std::string> records) {
  std::erase_if(records, [](const auto& record) {
    return record.second.find("\"exit_status\": 0") == std::string::npos;
  });
  return records;
}

TEST_F(SweepInterruption, CtrlCStopsTheRunAndTheSameCommandGoesOn) {
  write_study("[ $1 = 2 ] && [ ! -e " + (dir_ / "go").native() + " ] && sleep 99; exit 0", 2);
  ProgramRun run(sweep_run());
  ASSERT_TRUE(eventually([&] { return records().size() == 1; }));
  ASSERT_TRUE(eventually([&] { return fs::exists(study_ / "logs/g2-lbs64-gbs128-r0.1.log"); }));
  run.signal(SIGINT);
  EXPECT_EQ(run.wait(), 130);
  EXPECT_THAT(run.err(), HasSubstr("interrupted; continue with: joulescale sweep run '"));
  EXPECT_TRUE(nothing_runs());
  EXPECT_THAT(status_table(), HasSubstr("6 runs: 1 done, 1 interrupted, 4 planned"));
  const auto before = complete(records());
  std::ofstream(dir_ / "go") << "go";
  EXPECT_EQ(run_sweep(), 0) << err_;
  EXPECT_EQ(results(), kResults);
  EXPECT_EQ(records().at("g1-lbs64-gbs64-r0"), before.at("g1-lbs64-gbs64-r0"));
}

TEST_F(SweepInterruption, AWorkloadThatIgnoresSignalsIsKilled) {
  write_study("trap '' INT TERM; while :; do sleep 1; done");
  ProgramRun run(sweep_run());
  ASSERT_TRUE(eventually([&] { return fs::exists(study_ / "runs/g1-lbs64-gbs64-r0"); }));
  run.signal(SIGTERM);
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  run.signal(SIGTERM);
  EXPECT_EQ(run.wait(std::chrono::seconds(30)), 143);
  EXPECT_TRUE(nothing_runs());
}

TEST_F(SweepInterruption, KilledTheSweepTakesItsRunWithIt) {
  write_study("trap '' INT; sh -c 'sleep 99; :'; :");
  ProgramRun run(sweep_run());
  ASSERT_TRUE(eventually([&] { return fs::exists(study_ / "runs/g1-lbs64-gbs64-r0"); }));
  run.signal(SIGKILL);
  EXPECT_EQ(run.wait(), 137);
  EXPECT_TRUE(nothing_runs());
}

TEST_F(SweepInterruption, KilledAtRandomMomentsItEndsWithTheSameTable) {
  write_study("sleep 0.1; exit 0", 2);
  std::mt19937 random(1);  // a fixed seed: the moments differ from run to run all the same
  std::uniform_int_distribution<int> delay(0, kMaxDelayMilliseconds);
  std::map<std::string, std::string> done;
  int finished = 0;
  for (int i = 0; i < kKills; ++i) {
    ProgramRun run(sweep_run());
    std::this_thread::sleep_for(std::chrono::milliseconds(delay(random)));
    run.signal(SIGKILL);
    finished += run.wait() == 0 ? 1 : 0;
    const auto now = complete(records());
    for (const auto& [name, text] : done) {
      ASSERT_TRUE(now.contains(name)) << name;
      ASSERT_EQ(now.at(name), text) << name;
    }
    done = now;
    if (done.size() == 6) {  // begin anew: more moments to be killed at
      ASSERT_EQ(results(), kResults);
      fs::remove_all(study_);
      done.clear();
    }
  }
  EXPECT_EQ(run_sweep(), 0) << err_;
  EXPECT_EQ(results(), kResults);
  EXPECT_LT(finished, kKills);
  EXPECT_TRUE(nothing_runs());
}

}  // namespace
}  // namespace joulescale
