// SPDX-License-Identifier: Apache-2.0
#include "joulescale/sweep/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace joulescale {
namespace {

using ::testing::HasSubstr;

/// What a Progress wrote.
class ProgressTest : public ::testing::Test {
 protected:
  std::string text() {
    std::fflush(file_);
    return {buffer_, size_};
  }
  ~ProgressTest() override {
    std::fclose(file_);
    std::free(buffer_);
  }
  char* buffer_ = nullptr;
  std::size_t size_ = 0;
  std::FILE* file_ = ::open_memstream(&buffer_, &size_);
};

TEST(TimeEstimate, KnowsNothingBeforeARunHasEnded) { EXPECT_FALSE(TimeEstimate().of({1, 64, 1})); }

TEST(TimeEstimate, TakesTheMeanOfTheSameConfigurationElseScalesWithDevices) {
  TimeEstimate estimate;
  estimate.add({1, 64, 1}, Seconds(100));
  EXPECT_DOUBLE_EQ(estimate.of({4, 64, 1})->value(), 25);
  estimate.add({1, 64, 1}, Seconds(140));
  EXPECT_DOUBLE_EQ(estimate.of({1, 64, 1})->value(), 120);
  estimate.add({4, 64, 1}, Seconds(60));
  EXPECT_DOUBLE_EQ(estimate.of({4, 64, 1})->value(), 60);
  // 300 s of runs that weigh 1 + 1 + 1/4.
  EXPECT_DOUBLE_EQ(estimate.of({2, 64, 1})->value(), 300 / 2.25 / 2);
}

TEST(FormatDuration, HasMinutesAndHours) {
  EXPECT_EQ(format_duration(Seconds(0.4)), "0:00");
  EXPECT_EQ(format_duration(Seconds(59.6)), "1:00");
  EXPECT_EQ(format_duration(Seconds(754)), "12:34");
  EXPECT_EQ(format_duration(Seconds(11105)), "3:05:05");
}

TEST_F(ProgressTest, ALogHasOnePlainLineAStep) {
  Progress progress(file_, false, 3);
  progress.begin_run("a", 1, 2);
  progress.tick(Seconds(5));
  progress.end_run("status 3", std::nullopt);
  progress.begin_run("a", 2, 2);
  progress.end_run("", Seconds(65));
  EXPECT_EQ(text(),
            "joulescale sweep: 2/3 a: started\n"
            "joulescale sweep: 2/3 a: failed after 0:00: status 3\n"
            "joulescale sweep: 2/3 a (attempt 2): started\n"
            "joulescale sweep: 2/3 a (attempt 2): done in 0:00, about 1:05 left\n");
}

TEST_F(ProgressTest, ATerminalHasALineThatMoves) {
  Progress progress(file_, true, 4);
  progress.begin_run("a", 1, 2);
  progress.tick(Seconds(5));
  EXPECT_EQ(text(), "\r\033[K[#####---------------] 2/4 a  0:00, about 0:05 left");
  progress.end_run("", Seconds(0));
  EXPECT_THAT(text(), HasSubstr("\r\033[Kjoulescale sweep: 2/4 a: done in 0:00"));
}

TEST(Progress, NobodyListeningIsFine) {
  Progress progress(nullptr, true, 1);
  progress.begin_run("a", 1, 1);
  progress.tick(std::nullopt);
  progress.end_run("x", std::nullopt);
}

}  // namespace
}  // namespace joulescale
