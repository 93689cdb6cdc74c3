// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "joulescale/sensors/powercap/powercap_sensor.h"

#include "tests/support/fake_clock.h"
#include "tests/support/powercap_tree.h"

namespace joulescale {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FakeClock;
using ::testing::HasSubstr;
using testing::PowercapTree;

std::vector<std::string> channel_names(const Sensor& sensor) {
  std::vector<std::string> names;
  for (const Channel& channel : sensor.channels()) {
    names.push_back(channel.name);
  }
  return names;
}

TEST(PowercapNumber, TakesDigitsAndALineEndOnly) {
  EXPECT_EQ(parse_powercap_number("123\n"), 123U);
  EXPECT_EQ(parse_powercap_number("18446744073709551615"), 18446744073709551615U);
  for (const char* text : {"", "\n", "-1\n", "1 2\n", "12a", "18446744073709551616", "0x10"}) {
    EXPECT_FALSE(parse_powercap_number(text)) << text;
  }
}

TEST(PowercapSensor, CountsPackagesAndDramAndShowsTheRest) {
  PowercapTree tree;
  tree.add_zone("intel-rapl:0", "package-0", 100);
  tree.add_zone("intel-rapl:0:0", "core", 50);
  tree.add_zone("intel-rapl:0:1", "uncore", 10);
  tree.add_zone("intel-rapl:0:2", "dram", 20, 65'712'999'613);
  tree.add_zone("intel-rapl:1", "package-1", 200);
  tree.add_zone("intel-rapl:1:0", "dram", 30);
  tree.add_zone("intel-rapl:2", "psys", 400);
  FakeClock clock;
  PowercapSensor sensor(tree.root(), clock);
  ASSERT_TRUE(sensor.open().ok());
  std::vector<std::string> counted;
  for (const Channel& channel : sensor.channels()) {
    if (is_counted(channel.domain)) {
      counted.push_back(channel.name);
    }
  }
  EXPECT_THAT(counted,
              ElementsAre("powercap/package-0",
                          "powercap/package-0/dram",
                          "powercap/package-1",
                          "powercap/package-1/dram"));
  EXPECT_EQ(sensor.channels().size(), 7U);
  EXPECT_EQ(sensor.channels()[3].counter_range, 65'712'999'613U);  // each zone has its own range
}

TEST(PowercapSensor, CountsMirrorsOfTheSameSiliconOnce) {
  PowercapTree tree;
  tree.add_zone("intel-rapl:0", "package-0", 100);
  tree.add_zone("intel-rapl-mmio:0", "package-0", 100);
  FakeClock clock;
  PowercapSensor sensor(tree.root(), clock);
  ASSERT_TRUE(sensor.open().ok());
  EXPECT_THAT(channel_names(sensor), ElementsAre("powercap/package-0"));
  EXPECT_THAT(sensor.notes(), Contains(HasSubstr("intel-rapl-mmio:0 ignored")));
}

TEST(PowercapSensor, FindsNestedZonesOnce) {
  PowercapTree tree;
  tree.add_zone("intel-rapl:0", "package-0", 100);
  tree.add_zone("intel-rapl:0/intel-rapl:0:0", "dram", 7);
  tree.add_zone("intel-rapl:0:0", "dram", 7);
  FakeClock clock;
  PowercapSensor sensor(tree.root(), clock);
  ASSERT_TRUE(sensor.open().ok());
  EXPECT_THAT(channel_names(sensor), ElementsAre("powercap/package-0", "powercap/package-0/dram"));
}

TEST(PowercapSensor, UnreadableZoneIsLeftOutWithAReason) {
  PowercapTree tree;
  tree.add_zone("intel-rapl:0", "package-0", 100);
  tree.add_zone("intel-rapl:1", "package-1", 100);
  tree.make_unreadable("intel-rapl:1", "energy_uj");
  FakeClock clock;
  PowercapSensor sensor(tree.root(), clock);
  ASSERT_TRUE(sensor.open().ok());
  EXPECT_THAT(channel_names(sensor), ElementsAre("powercap/package-0"));
  EXPECT_THAT(sensor.notes(), Contains(HasSubstr("intel-rapl:1")));
  tree.make_unreadable("intel-rapl:0", "energy_uj");
  const auto none = sensor.open();
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code(), ErrorCode::kPermission);
}

TEST(PowercapSensor, NoTreeSaysWhatToDo) {
  const testing::TempDir empty;
  FakeClock clock;
  PowercapSensor sensor(empty.path(), clock);
  const auto opened = sensor.open();
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code(), ErrorCode::kUnavailable);
  EXPECT_THAT(opened.error().text(), HasSubstr("mount /sys/class/powercap"));
}

TEST(PowercapSensor, UnknownZonesAndDamagedNumbersAreNoValues) {
  PowercapTree tree;
  tree.add_zone("intel-rapl:0", "package-0", 100);
  tree.add_zone("intel-rapl:1", "mystery", 100);
  FakeClock clock;
  PowercapSensor sensor(tree.root(), clock);
  ASSERT_TRUE(sensor.open().ok());
  EXPECT_THAT(sensor.notes(), Contains(HasSubstr("'mystery' is not known")));
  std::vector<RawReading> readings(1);
  for (const char* text : {"", "12 joules\n", "-5\n"}) {
    tree.set_text("intel-rapl:0", "energy_uj", text);
    sensor.read(readings);
    EXPECT_EQ(readings[0].status, ReadStatus::kMissing) << text;
  }
  tree.set_energy("intel-rapl:0", 123);
  sensor.read(readings);
  EXPECT_EQ(readings[0].status, ReadStatus::kOk);
  EXPECT_EQ(readings[0].raw, 123U);
  std::filesystem::remove_all(tree.zone("intel-rapl:0"));  // the zone vanishes
  sensor.read(readings);
  EXPECT_EQ(readings[0].status, ReadStatus::kMissing);
}

TEST(PowercapSensor, MissingRangeLeavesTheCounterWithoutModulus) {
  PowercapTree tree;
  tree.add_zone("intel-rapl:0", "package-0", 100);
  tree.make_unreadable("intel-rapl:0", "max_energy_range_uj");
  FakeClock clock;
  PowercapSensor sensor(tree.root(), clock);
  ASSERT_TRUE(sensor.open().ok());
  EXPECT_FALSE(sensor.channels()[0].counter_range.has_value());
  EXPECT_THAT(sensor.notes(), Contains(HasSubstr("max_energy_range_uj is not readable")));
}

TEST(PowercapSensor, PlausiblePowerComesFromTheConstraints) {
  PowercapTree tree;
  tree.add_zone("intel-rapl:0", "package-0", 100);
  tree.set_text("intel-rapl:0", "constraint_0_max_power_uw", "900000000\n");
  FakeClock clock;
  PowercapSensor sensor(tree.root(), clock);
  ASSERT_TRUE(sensor.open().ok());
  EXPECT_DOUBLE_EQ(sensor.channels()[0].plausible_power.value(), 1800.0);
}

/// A clock on which time makes two dies' one counter move.
class MovingClock final : public Clock {
 public:
  explicit MovingClock(PowercapTree& tree) : tree_(tree) {}
  Nanoseconds monotonic_now() const override { return now_; }
  Nanoseconds wall_now() const override { return now_; }
  void sleep_until(Nanoseconds deadline) override {
    now_ = std::max(now_, deadline);
    energy_ += 1000;
    tree_.set_energy("intel-rapl:0", energy_);
    tree_.set_energy("intel-rapl:1", mirrored ? energy_ : energy_ * 2);
  }
  bool mirrored = true;

 private:
  PowercapTree& tree_;
  Nanoseconds now_{std::chrono::seconds(1)};
  std::uint64_t energy_ = 5000;
};

TEST(PowercapSensor, DiesThatShowOneCounterCountOnce) {
  for (const bool mirrored : {true, false}) {
    PowercapTree tree;
    tree.add_zone("intel-rapl:0", "package-0-die-0", 5000);
    tree.add_zone("intel-rapl:1", "package-0-die-1", mirrored ? 5000 : 10000);
    MovingClock clock(tree);
    clock.mirrored = mirrored;
    PowercapSensor sensor(tree.root(), clock);
    ASSERT_TRUE(sensor.open().ok());
    EXPECT_EQ(sensor.channels().size(), mirrored ? 1U : 2U);
  }
}

TEST(PowercapSensor, MeasuresTheUpdatePeriod) {
  PowercapTree tree;
  tree.add_zone("intel-rapl:0", "package-0", 5000);
  MovingClock clock(tree);  // moves at every look, each probe interval of 0.5 ms
  PowercapSensor sensor(tree.root(), clock);
  std::filesystem::create_directories(tree.zone("intel-rapl:1"));
  ASSERT_TRUE(sensor.open().ok());
  EXPECT_EQ(sensor.channels()[0].update_period, std::chrono::microseconds(500));
}

}  // namespace
}  // namespace joulescale
