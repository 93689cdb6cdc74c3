// SPDX-License-Identifier: Apache-2.0
// The monitor's memory does not grow with the samples: a million of them (ten in the soak) go from
// the sampler into journal and accounts, on a clock of the test's own.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "joulescale/monitor/recorder.h"
#include "joulescale/monitor/sampler.h"

#include "tests/support/temp_dir.h"

namespace joulescale {
namespace {

constexpr Nanoseconds kPeriod = std::chrono::milliseconds(1);
constexpr std::uint64_t kMicrojoulesARow = 100'000;
constexpr std::size_t kNumChannels = 16;

std::uint64_t rows_to_make() {
  const std::uint64_t samples = std::getenv("JOULESCALE_SOAK") != nullptr ? 10'000'000 : 1'000'000;
  return samples / kNumChannels;
}

/// Moves when its sensor is read; thread safe, as a sampler needs it.
class ReadingClock final : public Clock {
 public:
  Nanoseconds monotonic_now() const override { return Nanoseconds(now_.load()); }
  Nanoseconds wall_now() const override { return monotonic_now(); }
  void sleep_until(Nanoseconds) override {}
  void advance(Nanoseconds time) { now_ += time.count(); }

 private:
  std::atomic<std::int64_t> now_{1'000'000'000};
};

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t size = 0;
  std::size_t resident = 0;
  file >> size >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// 16 counters of 100 W; as fast as the recorder can follow.
class FastSensor final : public Sensor {
 public:
  explicit FastSensor(ReadingClock& clock) : clock_(clock) {}

  std::string_view name() const override { return "fast"; }
  Result<void> open() override {
    for (std::size_t i = 0; i < kNumChannels; ++i) {
      Channel& channel = channels_.emplace_back();
      channel.name = fmt::format("fast/{}", i);
      channel.overlap_group = channel.name;
    }
    return {};
  }
  std::span<const Channel> channels() const override { return channels_; }
  std::span<const std::string> notes() const override { return {}; }
  void read(std::span<RawReading> out) noexcept override {
    // The recorder is woken by a few hundred rows; this is its time to take them.
    if (rows_ % 256 == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (rows_ == rows_to_make_ / 10) {
      early_bytes_ = resident_bytes();
    }
    clock_.advance(kPeriod);
    const Nanoseconds now = clock_.monotonic_now();
    const std::uint64_t row = ++rows_;
    for (RawReading& reading : out) {
      reading = {ReadStatus::kOk, row * kMicrojoulesARow, now, now};
    }
  }
  void close() noexcept override { channels_.clear(); }

  std::uint64_t rows() const { return rows_; }
  std::size_t early_bytes() const { return early_bytes_; }

 private:
  ReadingClock& clock_;
  std::vector<Channel> channels_;
  const std::uint64_t rows_to_make_ = rows_to_make();
  std::atomic<std::uint64_t> rows_{0};
  std::atomic<std::size_t> early_bytes_{0};
};

TEST(MonitorMemory, DoesNotGrowWithTheSamples) {
  const testing::TempDir directory;
  ReadingClock clock;
  auto made = std::make_unique<FastSensor>(clock);
  const FastSensor& sensor = *made;
  std::vector<std::unique_ptr<Sensor>> sensors;
  sensors.push_back(std::move(made));
  Sampler sampler(std::move(sensors), kPeriod, clock);
  auto journal = RotatingJournal::create(JournalFiles{directory / "journal"}, {});
  ASSERT_TRUE(journal.ok());
  Recorder recorder(sampler, std::move(journal).value(), clock);
  recorder.command_began(clock.monotonic_now());
  while (sensor.rows() < rows_to_make()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const std::size_t late_bytes = resident_bytes();
  ASSERT_TRUE(sampler.stop(std::chrono::minutes(1)));
  recorder.finish();
  EXPECT_EQ(recorder.journal_error(), "");
  // 30 MB and more if each were kept; what a busy machine leaves waiting between the threads is
  // below 4 MB.
  EXPECT_LT(late_bytes, sensor.early_bytes() + 4'000'000);
}

}  // namespace
}  // namespace joulescale
