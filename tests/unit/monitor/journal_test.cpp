// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/journal.h"

#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "joulescale/monitor/node_meter.h"

#include "tests/support/counter_feed.h"
#include "tests/support/temp_dir.h"

namespace joulescale {
namespace {

namespace fs = std::filesystem;
using testing::ok_reading;
using testing::TempDir;

/// Feeds a journal into a meter, as recovering does.
class Replay final : public JournalVisitor {
 public:
  void on_sensor(std::size_t, Nanoseconds period, const std::vector<Channel>& channels) override {
    meter.add_sensor(channels, period);
  }
  void on_readings(std::size_t sensor, const std::vector<RawReading>& readings) override {
    meter.add(sensor, readings);
  }
  void on_missed(std::size_t sensor, std::uint64_t count) override {
    meter.add_missed(sensor, count);
  }
  void on_begin(Nanoseconds time) override { begin = time; }
  void on_end(Nanoseconds time, bool by_signal, int status) override {
    end = time;
    ended_by_signal = by_signal;
    end_status = status;
  }
  NodeMeter meter;
  Nanoseconds begin{0};
  Nanoseconds end{0};
  bool ended_by_signal = false;
  int end_status = -1;
};

TEST(Journal, ReplayGivesTheSameEnergy) {
  const TempDir directory;
  NodeMeter live;
  const std::vector<Channel> channels = {testing::counter_channel(1'000'000'000),
                                         testing::power_channel()};
  live.add_sensor(channels, std::chrono::milliseconds(100));
  JournalWriter journal = JournalWriter::create(directory / "journal").value();
  ASSERT_TRUE(journal.sensor(0, std::chrono::milliseconds(100), channels).ok());
  ASSERT_TRUE(journal.begin(testing::at_seconds(100.0)).ok());
  for (int i = 0; i < 100; ++i) {
    const std::vector<RawReading> readings = {
        ok_reading(100.0 + 0.1 * i, static_cast<std::uint64_t>(i) * 20'000'000 % 1'000'000'000),
        ok_reading(100.0 + 0.1 * i, 100'000)};
    live.add(0, readings);
    ASSERT_TRUE(journal.readings(0, readings).ok());
  }
  ASSERT_TRUE(journal.missed(0, 3).ok());
  live.add_missed(0, 3);
  ASSERT_TRUE(journal.end(testing::at_seconds(109.9), true, 9).ok());
  ASSERT_TRUE(journal.sync().ok());
  Replay replay;
  EXPECT_EQ(read_journal(directory / "journal", replay).value(), 0U);
  EXPECT_TRUE(replay.ended_by_signal);
  EXPECT_EQ(replay.end_status, 9);
  const NodeEnergy expected = live.finish(replay.begin, replay.end);
  const NodeEnergy replayed = replay.meter.finish(replay.begin, replay.end);
  ASSERT_EQ(replayed.groups.size(), expected.groups.size());
  for (std::size_t i = 0; i < expected.groups.size(); ++i) {
    EXPECT_EQ(replayed.groups[i].energy.energy, expected.groups[i].energy.energy);
    EXPECT_EQ(replayed.groups[i].energy.uncertainty, expected.groups[i].energy.uncertainty);
  }
  EXPECT_EQ(replayed.sources[0].wraps, 1U);
  EXPECT_EQ(replayed.sources[0].missed, 3U);
}

TEST(Journal, AChannelThatMixesQuantitiesIsNoChannel) {
  const auto num_groups_of = [](const Channel& channel) {
    const TempDir directory;
    JournalWriter journal = JournalWriter::create(directory / "journal").value();
    EXPECT_TRUE(journal.sensor(0, std::chrono::seconds(1), std::vector{channel}).ok());
    for (int i = 0; i < 9; ++i) {
      EXPECT_TRUE(
          journal
              .readings(0, std::vector{ok_reading(100.0 + i, static_cast<std::uint64_t>(1000 * i))})
              .ok());
    }
    EXPECT_TRUE(journal.sync().ok());
    Replay replay;
    EXPECT_TRUE(read_journal(directory / "journal", replay).ok());
    const NodeEnergy energy =
        replay.meter.finish(testing::at_seconds(100.0), testing::at_seconds(108.0));
    return energy.groups.size() + energy.metrics.size();
  };
  EXPECT_EQ(num_groups_of(testing::power_channel()), 1U);
  EXPECT_EQ(num_groups_of(testing::metric_channel("x", RawUnit::kByte)), 1U);
  EXPECT_EQ(num_groups_of(testing::metric_channel("x", RawUnit::kMillijoule)), 0U);
  Channel power = testing::power_channel();
  power.unit = RawUnit::kPercent;
  EXPECT_EQ(num_groups_of(power), 0U) << "a percentage is not integrated";
  Channel energy = testing::counter_channel(std::nullopt);
  energy.unit = RawUnit::kMilliwatt;
  EXPECT_EQ(num_groups_of(energy), 0U);
}

/// Keeps what was visited.
class Rows final : public JournalVisitor {
 public:
  void on_readings(std::size_t sensor, const std::vector<RawReading>& readings) override {
    rows.emplace_back(sensor, readings);
  }
  std::vector<std::pair<std::size_t, std::vector<RawReading>>> rows;
};

constexpr std::int64_t kTimeUnit = 128;  // ns

bool same(const RawReading& a, const RawReading& b) {
  return a.status == b.status && (a.status != ReadStatus::kOk || a.raw == b.raw) &&
         a.before / kTimeUnit == b.before / kTimeUnit && a.after / kTimeUnit == b.after / kTimeUnit;
}

TEST(Journal, KeepsExtremeValuesOfSeveralSensors) {
  const TempDir directory;
  const std::vector<Channel> two = {testing::counter_channel(1'000'000'000),
                                    testing::power_channel()};
  const std::vector<Channel> one = {testing::power_channel()};
  JournalWriter journal = JournalWriter::create(directory / "journal").value();
  ASSERT_TRUE(journal.sensor(0, std::chrono::milliseconds(100), two).ok());
  ASSERT_TRUE(journal.sensor(7, std::chrono::milliseconds(10), one).ok());
  std::vector<std::vector<RawReading>> first;
  std::vector<std::vector<RawReading>> second;
  std::mt19937_64 random(20261201);
  std::int64_t now = 1'000'000'000'000;
  for (int i = 0; i < 5000; ++i) {
    const auto reading = [&](std::uint64_t raw) {
      RawReading made;
      made.status = static_cast<ReadStatus>(random() % 20 == 0 ? random() % 3 : 0);
      made.raw = raw;
      made.before = Nanoseconds(now += static_cast<std::int64_t>(random() % 1'000'000));
      made.after = Nanoseconds(now += static_cast<std::int64_t>(random() % 5'000'000'000));
      return made;
    };
    first.push_back({reading(random()), reading(i % 2 == 0 ? 0 : ~std::uint64_t{0})});
    ASSERT_TRUE(journal.readings(0, first.back()).ok());
    second.push_back({reading(random() % 1000)});
    ASSERT_TRUE(journal.readings(7, second.back()).ok());
    if (i % 1000 == 999) {
      ASSERT_TRUE(journal.sync().ok());
    }
  }
  Rows read;
  ASSERT_EQ(read_journal(directory / "journal", read).value(), 0U);
  ASSERT_EQ(read.rows.size(), first.size() + second.size());
  std::size_t next_first = 0;
  std::size_t next_second = 0;
  for (const auto& [sensor, row] : read.rows) {
    const auto& expected = sensor == 0 ? first.at(next_first++) : second.at(next_second++);
    ASSERT_EQ(row.size(), expected.size());
    for (std::size_t channel = 0; channel < row.size(); ++channel) {
      ASSERT_TRUE(same(row[channel], expected[channel]));
    }
  }
}

/// Eight GPUs with counter and power, read one after the other ten times a second.
TEST(Journal, TakesAtMostEightBytesAValue) {
  const TempDir directory;
  constexpr int kChannels = 16;
  constexpr int kRows = 36'000;
  std::vector<Channel> channels;
  for (int i = 0; i < kChannels; ++i) {
    channels.push_back(i % 2 == 0 ? testing::counter_channel(0) : testing::power_channel());
    channels.back().name += std::to_string(i);
  }
  JournalWriter journal = JournalWriter::create(directory / "journal").value();
  ASSERT_TRUE(journal.sensor(0, std::chrono::milliseconds(100), channels).ok());
  std::mt19937 random(20261201);
  std::uniform_int_distribution<std::int64_t> jitter_ns(0, 200'000);
  std::uniform_int_distribution<std::int64_t> read_ns(20'000, 60'000);
  std::uniform_int_distribution<std::uint64_t> power_mw(300'000, 700'000);
  std::vector<RawReading> row(kChannels);
  for (int i = 0; i < kRows; ++i) {
    std::int64_t now = 1'000'000'000'000 + i * std::int64_t{100'000'000} + jitter_ns(random);
    for (int channel = 0; channel < kChannels; ++channel) {
      RawReading& reading = row[static_cast<std::size_t>(channel)];
      reading.status = ReadStatus::kOk;
      reading.before = Nanoseconds(now + 200);
      now += read_ns(random);
      reading.after = Nanoseconds(now);
      const std::uint64_t power = power_mw(random);
      reading.raw = channel % 2 == 0 ? reading.raw + power / 10 : power;
    }
    ASSERT_TRUE(journal.readings(0, row).ok());
    if (i % 10 == 9) {
      ASSERT_TRUE(journal.sync().ok());
    }
  }
  const auto bytes = static_cast<double>(fs::file_size(directory / "journal"));
  EXPECT_LE(bytes / (kChannels * kRows), 8.0);
}

/// Perf's counters of two sockets alone: of few channels the row's own bytes weigh most.
TEST(Journal, OfPerfTakesAtMostEightBytesAValue) {
  const TempDir directory;
  constexpr int kChannels = 4;
  constexpr int kRows = 36'000;
  std::vector<Channel> channels(kChannels, testing::counter_channel(0));
  for (int i = 0; i < kChannels; ++i) {
    channels[static_cast<std::size_t>(i)].name += std::to_string(i);
    channels[static_cast<std::size_t>(i)].unit = RawUnit::kJouleOver2To16;
  }
  JournalWriter journal = JournalWriter::create(directory / "journal").value();
  ASSERT_TRUE(journal.sensor(0, std::chrono::milliseconds(100), channels).ok());
  std::mt19937 random(20261203);
  std::uniform_int_distribution<std::int64_t> jitter_ns(0, 200'000);
  std::uniform_int_distribution<std::int64_t> read_ns(1'000, 60'000);  // a remote CPU answers
  std::uniform_real_distribution<double> power_w(50.0, 350.0);
  std::vector<double> joules(kChannels, 0.0);
  std::vector<RawReading> row(kChannels);
  for (int i = 0; i < kRows; ++i) {
    std::int64_t now = 1'000'000'000'000 + i * std::int64_t{100'000'000} + jitter_ns(random);
    for (std::size_t channel = 0; channel < row.size(); ++channel) {
      row[channel].status = ReadStatus::kOk;
      row[channel].before = Nanoseconds(now + 200);
      now += read_ns(random);
      row[channel].after = Nanoseconds(now);
      joules[channel] += 0.1 * power_w(random);
      row[channel].raw = static_cast<std::uint64_t>(joules[channel] * 0x1p14) << 2;  // 61 uJ steps
    }
    ASSERT_TRUE(journal.readings(0, row).ok());
    if (i % 10 == 9) {
      ASSERT_TRUE(journal.sync().ok());
    }
  }
  const auto bytes = static_cast<double>(fs::file_size(directory / "journal"));
  EXPECT_LE(bytes / (kChannels * kRows), 8.0);
}

TEST(Journal, TornTailCostsItsBlockOnly) {
  const TempDir directory;
  const std::vector<Channel> channels = {testing::power_channel()};
  JournalWriter journal = JournalWriter::create(directory / "journal").value();
  ASSERT_TRUE(journal.sensor(0, std::chrono::milliseconds(100), channels).ok());
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(journal.readings(0, std::vector{ok_reading(100.0 + 0.1 * i, 5)}).ok());
    if (i % 10 == 9) {
      ASSERT_TRUE(journal.sync().ok());
    }
  }
  const auto size = fs::file_size(directory / "journal");
  for (const std::uintmax_t cut : {1U, 20U, 45U}) {
    fs::resize_file(directory / "journal", size - cut);
    Rows read;
    EXPECT_GT(read_journal(directory / "journal", read).value(), 0U);
    EXPECT_EQ(read.rows.size(), 30U) << cut;
  }
}

}  // namespace
}  // namespace joulescale
