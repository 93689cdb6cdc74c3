// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "joulescale/sensors/perf/perf_sensor.h"

#include "tests/support/fake_clock.h"
#include "tests/support/fake_perf.h"
#include "tests/support/temp_dir.h"

namespace joulescale {
namespace {

using testing::add_cpu;
using testing::add_power_event;
using testing::add_power_pmu;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FakeClock;
using testing::FakePerfEvents;
using ::testing::HasSubstr;
using testing::power_pmu;
using testing::TempDir;
using testing::write_text;

constexpr std::uint64_t kCores = 1;
constexpr std::uint64_t kPackage = 2;
constexpr std::uint64_t kRam = 3;
constexpr std::uint64_t kGpu = 4;
constexpr std::uint64_t kPsys = 5;

class PerfSensorTest : public ::testing::Test {
 protected:
  /// Two packages with one die each.
  void make_two_sockets() {
    add_power_pmu(root(), "0,18");
    add_cpu(root(), 0, 0);
    add_cpu(root(), 18, 1);
    add_power_event(root(), "energy-pkg", kPackage);
    add_power_event(root(), "energy-ram", kRam);
  }
  const std::filesystem::path& root() const { return directory_.path(); }
  std::vector<std::string> channel_names() const {
    std::vector<std::string> names;
    for (const Channel& channel : sensor.channels()) {
      names.push_back(channel.name);
    }
    return names;
  }

  FakeClock clock;
  FakePerfEvents events;

 private:
  TempDir directory_;

 protected:
  PerfSensor sensor{root(), &events, clock};
};

TEST(CpuList, TakesNumbersAndRangesOnly) {
  EXPECT_THAT(*parse_cpu_list("0,18\n"), ElementsAre(0, 18));
  EXPECT_THAT(*parse_cpu_list("0-2,8"), ElementsAre(0, 1, 2, 8));
  for (const char* text : {"", "\n", ",", "1,", "a", "-1", "2-1", "0x1", "0-99999999", "1 2"}) {
    EXPECT_FALSE(parse_cpu_list(text)) << text;
  }
}

TEST(EventConfig, TakesOneHexadecimalEvent) {
  EXPECT_EQ(parse_event_config("event=0x02\n"), 2U);
  EXPECT_EQ(parse_event_config("event=0x1f"), 31U);
  for (const char* text : {"", "event=", "event=0x", "event=2", "event=0x02,umask=0x1", "0x02"}) {
    EXPECT_FALSE(parse_event_config(text)) << text;
  }
}

TEST_F(PerfSensorTest, CountsEverySocketAndShowsTheRest) {
  make_two_sockets();
  add_power_event(root(), "energy-cores", kCores);
  add_power_event(root(), "energy-gpu", kGpu);
  add_power_event(root(), "energy-psys", kPsys);
  ASSERT_TRUE(sensor.open().ok());
  EXPECT_THAT(channel_names(),
              ElementsAre("perf/package-0",
                          "perf/package-1",
                          "perf/package-0/dram",
                          "perf/package-1/dram",
                          "perf/package-0/core",
                          "perf/package-1/core",
                          "perf/package-0/uncore",
                          "perf/package-1/uncore",
                          "perf/psys",
                          "perf/psys-1"));
  for (const Channel& channel : sensor.channels()) {
    const bool counted = channel.domain == Domain::kCpu || channel.domain == Domain::kDram;
    EXPECT_EQ(is_counted(channel.domain), counted) << channel.name;
    EXPECT_FALSE(channel.counter_range.has_value());  // 64 bits: a decrease is a reset
  }
  EXPECT_EQ(sensor.channels()[4].overlap_group, "package-0");
  events.set_joules(kPackage, 18, 7.5);
  std::vector<RawReading> readings(10);
  sensor.read(readings);
  EXPECT_EQ(readings[0].raw, 0U);
  EXPECT_EQ(readings[1].raw, 7.5 * 0x1p16);
  EXPECT_DOUBLE_EQ(
      static_cast<double>(readings[1].raw) * si_per_raw_unit(sensor.channels()[1].unit), 7.5);
  sensor.close();
  EXPECT_EQ(events.num_open(), 0U);
}

TEST_F(PerfSensorTest, DiesOfAPackageAddUpAsPowercapNamesThem) {
  add_power_pmu(root(), "0,24");
  add_cpu(root(), 0, 0, 0);
  add_cpu(root(), 24, 0, 1);
  add_power_event(root(), "energy-pkg", kPackage);
  add_power_event(root(), "energy-psys", kPsys);
  ASSERT_TRUE(sensor.open().ok());
  EXPECT_THAT(channel_names(),
              ElementsAre("perf/package-0-die-0", "perf/package-0-die-1", "perf/psys"));
}

TEST_F(PerfSensorTest, OnAmdAPackageHasOneCounterWhateverItsDies) {
  add_power_pmu(root(), "0,24");
  add_cpu(root(), 0, 0, 0);
  add_cpu(root(), 24, 0, 1);
  write_text(root() / "proc/cpuinfo", "processor\t: 0\nvendor_id\t: AuthenticAMD\n");
  add_power_event(root(), "energy-pkg", kPackage);
  ASSERT_TRUE(sensor.open().ok());
  EXPECT_THAT(channel_names(), ElementsAre("perf/package-0"));
}

TEST_F(PerfSensorTest, CpusOfOneDieCountOnce) {
  add_power_pmu(root(), "0-1");
  add_cpu(root(), 0, 0);
  add_cpu(root(), 1, 0);
  add_power_event(root(), "energy-pkg", kPackage);
  ASSERT_TRUE(sensor.open().ok());
  EXPECT_THAT(channel_names(), ElementsAre("perf/package-0"));
}

TEST_F(PerfSensorTest, AnotherScaleOrUnitIsRefused) {
  make_two_sockets();
  write_text(power_pmu(root()) / "events/energy-pkg.scale", "1e-6\n");
  ASSERT_TRUE(sensor.open().ok());  // dram alone
  EXPECT_THAT(channel_names(), ElementsAre("perf/package-0/dram", "perf/package-1/dram"));
  EXPECT_THAT(sensor.notes(), Contains(HasSubstr("energy-pkg: counts in steps of '1e-6'")));
  write_text(power_pmu(root()) / "events/energy-ram.unit", "Watts\n");
  const auto refused = sensor.open();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kUnsupported);
  EXPECT_THAT(refused.error().text(), HasSubstr("'Watts'"));
}

TEST_F(PerfSensorTest, NotPermittedNamesTheCommandThatMendsIt) {
  make_two_sockets();
  events.error = EACCES;
  write_text(root() / "proc/sys/kernel/perf_event_paranoid", "2\n");
  const auto refused = sensor.open();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kPermission);
  EXPECT_THAT(refused.error().text(), HasSubstr("perf_event_paranoid is 2"));
  EXPECT_THAT(refused.error().text(), HasSubstr("sysctl kernel.perf_event_paranoid=0"));
  EXPECT_THAT(refused.error().text(), HasSubstr("setcap cap_perfmon+ep /"));
  // Where the kernel would permit it, a container's filter does not.
  write_text(root() / "proc/sys/kernel/perf_event_paranoid", "-1\n");
  events.error = EPERM;
  EXPECT_THAT(sensor.open().error().text(), HasSubstr("--cap-add PERFMON"));
}

TEST_F(PerfSensorTest, AVirtualMachineWithoutThePmuSaysSo) {
  const auto absent = sensor.open();
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.error().code(), ErrorCode::kUnavailable);
  EXPECT_THAT(absent.error().text(), HasSubstr("virtual machine"));
  make_two_sockets();
  events.error = ENODEV;  // the files are there, the hardware is not
  EXPECT_EQ(sensor.open().error().code(), ErrorCode::kUnavailable);
  EXPECT_THAT(sensor.open().error().text(), HasSubstr("perf_event_open failed"));
}

TEST_F(PerfSensorTest, AnotherRootIsNotThisMachine) {
  make_two_sockets();
  PerfSensor elsewhere(root(), nullptr, clock);
  const auto opened = elsewhere.open();
  ASSERT_FALSE(opened.ok());
  EXPECT_THAT(opened.error().text(), HasSubstr("leave out --root"));
}

TEST_F(PerfSensorTest, DamagedFilesAreRefused) {
  make_two_sockets();
  for (const char* mask : {"", "a", "0,"}) {
    write_text(power_pmu(root()) / "cpumask", mask);
    EXPECT_EQ(sensor.open().error().code(), ErrorCode::kCorruptData) << mask;
  }
  write_text(power_pmu(root()) / "cpumask", "0,18\n");
  write_text(power_pmu(root()) / "events/energy-pkg", "garbage\n");
  ASSERT_TRUE(sensor.open().ok());
  EXPECT_THAT(sensor.notes(), Contains(HasSubstr("'garbage' is no event number")));
  std::filesystem::remove_all(root() / "sys/devices/system/cpu/cpu18");
  EXPECT_THAT(sensor.open().error().text(), HasSubstr("package of CPU 18 is not known"));
}

TEST_F(PerfSensorTest, ASocketThatCannotBeCountedIsAnErrorNotAnIdleSocket) {
  make_two_sockets();
  events.refused = {kPackage, 18};
  const auto opened = sensor.open();
  ASSERT_FALSE(opened.ok());
  EXPECT_THAT(opened.error().text(), HasSubstr("energy-pkg on CPU 18"));
  EXPECT_EQ(events.num_open(), 0U);
}

TEST_F(PerfSensorTest, AReadThatGivesNothingIsMissing) {
  make_two_sockets();
  ASSERT_TRUE(sensor.open().ok());
  events.broken = true;
  std::vector<RawReading> readings(4);
  sensor.read(readings);
  EXPECT_EQ(readings[0].status, ReadStatus::kMissing);
}

TEST_F(PerfSensorTest, OneProcessOfALaunchReadsIt) {
  make_two_sockets();
  std::vector<std::string> asked;
  sensor.share(
      [&](const std::string& source) {
        asked.push_back(source);
        return false;
      },
      {});
  ASSERT_TRUE(sensor.open().ok());
  EXPECT_TRUE(sensor.channels().empty());
  EXPECT_THAT(asked, ElementsAre("perf"));
  EXPECT_THAT(sensor.elsewhere(), ElementsAre("perf"));
  EXPECT_EQ(events.num_open(), 0U);
  // Who may not count does not claim it, so that another process may.
  events.error = EACCES;
  asked.clear();
  EXPECT_FALSE(sensor.open().ok());
  EXPECT_TRUE(asked.empty());
}

}  // namespace
}  // namespace joulescale
