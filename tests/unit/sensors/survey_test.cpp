// SPDX-License-Identifier: Apache-2.0
#include "joulescale/sensors/survey.h"

#include <future>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"

namespace joulescale {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

/// One counter that moves every `period` of the clock and that open() does not watch.
class SlowCounter : public Sensor {
 public:
  SlowCounter(Clock& clock, Nanoseconds period) : clock_(clock), period_(period) {}
  std::string_view name() const override { return "slow"; }
  Result<void> open() override {
    channels_.resize(1);
    channels_[0].name = "slow/counter";
    return {};
  }
  std::span<const Channel> channels() const override { return channels_; }
  std::span<const std::string> notes() const override { return {}; }
  void read(std::span<RawReading> out) noexcept override {
    const Nanoseconds now = clock_.monotonic_now();
    out[0] = {ReadStatus::kOk, static_cast<std::uint64_t>(now / period_), now, now};
  }
  void close() noexcept override { channels_.clear(); }

 private:
  Clock& clock_;
  Nanoseconds period_;
  std::vector<Channel> channels_;
};

/// Does not come back from open() before it is told to.
class HangingSensor final : public SlowCounter {
 public:
  HangingSensor(Clock& clock, std::shared_future<void> release)
      : SlowCounter(clock, std::chrono::seconds(1)), release_(std::move(release)) {}
  std::string_view name() const override { return "hanging"; }
  Result<void> open() override {
    release_.wait();
    return Error(ErrorCode::kUnavailable, "too late");
  }

 private:
  std::shared_future<void> release_;
};

std::vector<std::unique_ptr<Sensor>> only(std::unique_ptr<Sensor> sensor) {
  std::vector<std::unique_ptr<Sensor>> sensors;
  sensors.push_back(std::move(sensor));
  return sensors;
}

TEST(Survey, WatchesACounterThatOpenCouldNotTime) {
  static testing::FakeClock clock;  // advances only while the survey sleeps
  const Survey survey = survey_sources(
      only(std::make_unique<SlowCounter>(clock, std::chrono::milliseconds(400))), clock);
  ASSERT_EQ(survey.sources.size(), 1U);
  EXPECT_TRUE(survey.sources[0].available);
  EXPECT_FALSE(survey.left_threads);
  ASSERT_TRUE(survey.sources[0].channels[0].update_period.has_value());
  EXPECT_NEAR(to_seconds(*survey.sources[0].channels[0].update_period).value(), 0.4, 0.01);
}

TEST(Survey, WatchesNoLongerThanItsLimitAndSaysWhatRested) {
  static testing::FakeClock clock;
  const Nanoseconds begin = clock.monotonic_now();
  const Survey survey =
      survey_sources(only(std::make_unique<SlowCounter>(clock, std::chrono::hours(1))), clock);
  EXPECT_FALSE(survey.sources[0].channels[0].update_period.has_value());
  EXPECT_THAT(survey.sources[0].notes, Contains(HasSubstr("slow/counter hardly moved")));
  EXPECT_LE(clock.monotonic_now() - begin, std::chrono::milliseconds(2100));
}

TEST(Survey, ASourceThatHangsDoesNotHoldUpTheOthers) {
  Clock& clock = system_clock();
  std::promise<void> release;
  auto sensors = only(std::make_unique<HangingSensor>(clock, release.get_future().share()));
  sensors.push_back(std::make_unique<SlowCounter>(clock, std::chrono::milliseconds(10)));
  SurveyLimits limits;
  limits.answer = std::chrono::seconds(2);  // plenty for the other, also on a busy machine
  const Survey survey = survey_sources(std::move(sensors), clock, limits);
  release.set_value();
  ASSERT_EQ(survey.sources.size(), 2U);
  EXPECT_EQ(survey.sources[0].name, "hanging");
  EXPECT_FALSE(survey.sources[0].available);
  EXPECT_THAT(survey.sources[0].reason, HasSubstr("did not answer within 2 s"));
  EXPECT_TRUE(survey.sources[1].available);
  EXPECT_TRUE(survey.left_threads);
}

}  // namespace
}  // namespace joulescale
