// SPDX-License-Identifier: Apache-2.0
// The recorder under a wall clock that is set while it runs.
#include "joulescale/monitor/recorder.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "joulescale/monitor/node_replay.h"

#include "tests/support/counter_feed.h"
#include "tests/support/temp_dir.h"

namespace joulescale {
namespace {

using testing::TempDir;

constexpr double kWatts = 100.0;

/// Runs a hundred times as fast as the machine's; the wall clock can be set. Lies in the machine's
/// past, so that whoever waits until one of its times does not wait. Thread safe.
class FastClock final : public Clock {
 public:
  Nanoseconds monotonic_now() const override {
    // A machine may have been up for less than any fixed time in the past.
    return began_ / 2 + 100 * (system_clock().monotonic_now() - began_);
  }
  Nanoseconds wall_now() const override { return monotonic_now() + wall_offset_.load(); }
  void sleep_until(Nanoseconds monotonic_deadline) override {
    while (monotonic_now() < monotonic_deadline) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }
  void sleep_for(Nanoseconds duration) { sleep_until(monotonic_now() + duration); }
  void step_wall(Nanoseconds step) { wall_offset_ = wall_offset_.load() + step; }

 private:
  Nanoseconds began_ = system_clock().monotonic_now();
  std::atomic<Nanoseconds> wall_offset_{std::chrono::seconds(1'700'000'000)};
};

/// A package that takes 100 W.
class SteadySensor final : public Sensor {
 public:
  explicit SteadySensor(Clock& clock) : clock_(clock) {}
  std::string_view name() const override { return "powercap"; }
  Result<void> open() override {
    channels_ = {testing::counter_channel(262'143'328'850)};
    return {};
  }
  std::span<const Channel> channels() const override { return channels_; }
  std::span<const std::string> notes() const override { return {}; }
  Nanoseconds min_read_period() const override { return std::chrono::milliseconds(100); }
  void read(std::span<RawReading> out) noexcept override {
    const Nanoseconds now = clock_.monotonic_now();
    const double joules = kWatts * to_seconds(now).value();
    out[0] = {ReadStatus::kOk, static_cast<std::uint64_t>(joules * 1e6), now, now};
    clock_.sleep_until(now + std::chrono::milliseconds(50));
  }
  void close() noexcept override { channels_.clear(); }

 private:
  Clock& clock_;
  std::vector<Channel> channels_;
};

struct Outcome {
  bool clock_stepped = false;
  bool suspended = false;
  double energy_j = 0.0;
  double expected_j = 0.0;
  double uncertainty_j = 0.0;
};

/// Six seconds of the fast clock; `steps` come after one second each.
Outcome record_with_steps(const std::vector<Nanoseconds>& steps) {
  const TempDir directory;
  FastClock clock;
  std::vector<std::unique_ptr<Sensor>> sensors;
  sensors.push_back(std::make_unique<SteadySensor>(clock));
  Sampler sampler(std::move(sensors), std::chrono::milliseconds(100), clock);
  Recorder recorder(
      sampler, RotatingJournal::create({directory / "journal-0"}, JournalLimits()).value(), clock);
  clock.sleep_for(std::chrono::seconds(1));
  const Nanoseconds begin = clock.monotonic_now();
  recorder.command_began(begin);
  for (const Nanoseconds step : steps) {
    clock.sleep_for(std::chrono::seconds(1));
    clock.step_wall(step);
  }
  clock.sleep_until(begin + std::chrono::seconds(5));
  const Nanoseconds end = clock.monotonic_now();
  clock.sleep_for(std::chrono::milliseconds(500));
  recorder.command_ended(end, false, 0);
  EXPECT_TRUE(sampler.stop(std::chrono::minutes(1)));
  recorder.finish();
  EXPECT_EQ(recorder.journal_error(), "");
  const NodeEnergy energy = recorder.meter().finish(begin, end);
  EXPECT_EQ(energy.groups.size(), 1U);
  EXPECT_EQ(energy.sources.at(0).resets, 0U);
  const ComponentEnergy& cpu = energy.groups.at(0).energy;
  return {recorder.clock_stepped(),
          recorder.suspended(),
          cpu.energy.value(),
          kWatts * to_seconds(end - begin).value(),
          cpu.uncertainty->value()};
}

void expect_whole_energy(const Outcome& outcome) {
  EXPECT_NEAR(outcome.energy_j, outcome.expected_j, std::max(1.0, outcome.uncertainty_j));
}

TEST(Recorder, AClockThatIsSetIsFlaggedAndChangesNoEnergy) {
  for (const auto& steps : std::vector<std::vector<Nanoseconds>>{
           {std::chrono::hours(-1)}, {std::chrono::seconds(2), std::chrono::seconds(40)}}) {
    const Outcome outcome = record_with_steps(steps);
    EXPECT_TRUE(outcome.clock_stepped);
    EXPECT_FALSE(outcome.suspended);
    expect_whole_energy(outcome);
  }
}

TEST(Recorder, AClockThatIsLeftAloneIsNotFlagged) {
  const Outcome outcome = record_with_steps({});
  EXPECT_FALSE(outcome.clock_stepped);
  expect_whole_energy(outcome);
}

}  // namespace
}  // namespace joulescale
