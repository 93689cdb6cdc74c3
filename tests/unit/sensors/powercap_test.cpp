// SPDX-License-Identifier: Apache-2.0
#include <array>

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
using ::testing::UnorderedElementsAre;

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

TEST(PowercapSensor, ThePackageIsInTheNameNotInTheNumberOfTheZone) {
  PowercapTree tree;
  tree.add_zone("intel-rapl:0", "psys", 100);
  tree.add_zone("intel-rapl:1", "package-1", 100);
  tree.add_zone("intel-rapl:2", "package-0", 100);
  tree.add_zone("intel-rapl:2:0", "dram", 100);
  FakeClock clock;
  PowercapSensor sensor(tree.root(), clock);
  ASSERT_TRUE(sensor.open().ok());
  EXPECT_THAT(
      channel_names(sensor),
      ElementsAre(
          "powercap/psys", "powercap/package-1", "powercap/package-0", "powercap/package-0/dram"));
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

TEST(PowercapSensor, OfPackagesAllAreReadOrNone) {
  PowercapTree tree;
  tree.add_zone("intel-rapl:0", "package-0", 100);
  tree.add_zone("intel-rapl:0/intel-rapl:0:0", "dram", 7);
  tree.add_zone("intel-rapl:1", "package-1", 100);
  tree.make_unreadable("intel-rapl:1", "energy_uj");
  FakeClock clock;
  PowercapSensor sensor(tree.root(), clock);
  ASSERT_TRUE(sensor.open().ok());
  EXPECT_THAT(channel_names(sensor), ElementsAre("powercap/package-0/dram"));
  EXPECT_THAT(
      sensor.missing(),
      UnorderedElementsAre(HasSubstr("zone intel-rapl:1 ('package-1'): energy_uj cannot be read"),
                           HasSubstr("zone intel-rapl:0 ('package-0'): left out")));
  EXPECT_TRUE(sensor.notes().empty());
  tree.make_unreadable("intel-rapl:0", "energy_uj");
  tree.make_unreadable("intel-rapl:0/intel-rapl:0:0", "energy_uj");
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
  EXPECT_THAT(opened.error().text(), HasSubstr("modprobe intel_rapl_msr"));
}

TEST(PowercapSensor, ZonesThatAContainerMasksAreToldFromNone) {
  FakeClock clock;
  const testing::TempDir links;  // as Docker leaves them: links into a masked folder
  std::filesystem::create_directories(links / "sys/class/powercap");
  std::filesystem::create_symlink("../../devices/virtual/powercap/intel-rapl/intel-rapl:0",
                                  links / "sys/class/powercap/intel-rapl:0");
  const testing::TempDir home;
  std::filesystem::create_directories(home / "sys/devices/virtual/powercap");
  for (const testing::TempDir* root : {&links, &home}) {
    PowercapSensor sensor(root->path(), clock);
    const auto opened = sensor.open();
    ASSERT_FALSE(opened.ok());
    EXPECT_THAT(opened.error().text(), HasSubstr("--security-opt systempaths=unconfined"));
  }
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

TEST(PowercapSensor, DiesWhoseCounterRestsCountOnceWhereBothShowTheSame) {
  for (const std::uint64_t other_uj : {5000U, 5001U}) {
    PowercapTree tree;
    tree.add_zone("intel-rapl:0", "package-0-die-0", 5000);
    tree.add_zone("intel-rapl:1", "package-0-die-1", other_uj);
    FakeClock clock;
    PowercapSensor sensor(tree.root(), clock);
    ASSERT_TRUE(sensor.open().ok());
    EXPECT_EQ(sensor.channels().size(), other_uj == 5000 ? 1U : 2U);
  }
}

TEST(PowercapSensor, ZoneThatIsMadeAnewIsReadAnew) {
  PowercapTree tree;
  tree.add_zone("intel-rapl:0", "package-0", 5000);
  FakeClock clock;
  PowercapSensor sensor(tree.root(), clock);
  ASSERT_TRUE(sensor.open().ok());
  std::array<RawReading, 1> reading;
  sensor.read(reading);
  ASSERT_EQ(reading[0].raw, 5000U);

  tree.set_energy("intel-rapl:0", 6000);  // replaced by another file
  sensor.read(reading);
  EXPECT_EQ(reading[0].raw, 6000U);

  std::filesystem::remove_all(tree.zone("intel-rapl:0"));
  sensor.read(reading);
  EXPECT_EQ(reading[0].status, ReadStatus::kMissing);
  tree.add_zone("intel-rapl:0", "package-0", 70);
  sensor.read(reading);
  EXPECT_EQ(reading[0].status, ReadStatus::kOk);
  EXPECT_EQ(reading[0].raw, 70U);

  // Moved aside as a whole, so that the old file lives on: noticed within a second.
  std::filesystem::rename(tree.zone("intel-rapl:0"), tree.root() / "aside");
  tree.add_zone("intel-rapl:0", "package-0", 80);
  clock.advance(std::chrono::seconds(1));
  sensor.read(reading);
  EXPECT_EQ(reading[0].raw, 80U);
}

TEST(PowercapSensor, HasItsUpdatePeriodMeasured) {
  PowercapTree tree;
  tree.add_zone("intel-rapl:0", "package-0", 5000);
  MovingClock clock(tree);  // moves at every look, each probe interval of 0.5 ms
  PowercapSensor sensor(tree.root(), clock);
  std::filesystem::create_directories(tree.zone("intel-rapl:1"));
  ASSERT_TRUE(sensor.open().ok());
  const auto watch = sensor.tick_watch();
  ASSERT_TRUE(watch);
  EXPECT_THAT(probe_update_periods(sensor, clock, watch->interval, watch->limit),
              ::testing::ElementsAre(std::chrono::microseconds(500)));
}

}  // namespace
}  // namespace joulescale
