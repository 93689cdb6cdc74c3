// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "joulescale/sensors/nvml/nvml_metrics_sensor.h"
#include "joulescale/sensors/nvml/nvml_sensor.h"

#include "tests/support/fake_clock.h"
#include "tests/support/fake_nvml_dir.h"

namespace joulescale {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FakeClock;
using testing::FakeNvmlDir;
using ::testing::HasSubstr;

constexpr const char* kTwoGpus = R"(driver 580.1
gpu GPU-1 NVIDIA A
start_mj 5000
update_ms 20
limit_w 700
power 0:100
gpu GPU-2 NVIDIA A
power 0:200
)";

std::vector<std::string> names_of(const Sensor& sensor) {
  std::vector<std::string> names;
  for (const Channel& channel : sensor.channels()) {
    names.push_back(channel.name);
  }
  return names;
}

TEST(NvmlSensor, ReadsEnergyAndPowerOfEachGpu) {
  const FakeNvmlDir fake(JOULESCALE_FAKE_NVML_DIR, kTwoGpus);
  FakeClock clock;
  NvmlSensor sensor({fake.library(), false, std::nullopt}, clock);
  ASSERT_TRUE(sensor.open().ok());
  EXPECT_THAT(
      names_of(sensor),
      ElementsAre(
          "nvml/GPU-1/energy", "nvml/GPU-1/power", "nvml/GPU-2/energy", "nvml/GPU-2/power"));
  EXPECT_DOUBLE_EQ(sensor.channels()[0].plausible_power.value(), 1400.0);
  EXPECT_FALSE(sensor.channels()[0].counter_range.has_value());
  ASSERT_EQ(sensor.devices().size(), 2U);
  EXPECT_EQ(sensor.devices()[0].model, "NVIDIA A");
  EXPECT_EQ(sensor.devices()[0].driver, "580.1");
  testing::fake_nvml_control<void(double)>(fake.library(), "fake_nvml_set_time")(10.0);
  std::vector<RawReading> readings(4);
  sensor.read(readings);
  EXPECT_EQ(readings[0].raw, 5000U + 100U * 10U * 1000U);  // mJ
  EXPECT_EQ(readings[1].raw, 100'000U);                    // mW
  EXPECT_EQ(readings[3].raw, 200'000U);
}

TEST(NvmlSensor, MeasuresOnlyWhatTheCommandMayUseUnlessAskedForAll) {
  const FakeNvmlDir fake(JOULESCALE_FAKE_NVML_DIR, kTwoGpus);
  FakeClock clock;
  NvmlSensor visible({fake.library(), false, "GPU-2"}, clock);
  ASSERT_TRUE(visible.open().ok());
  EXPECT_THAT(names_of(visible), ElementsAre("nvml/GPU-2/energy", "nvml/GPU-2/power"));
  EXPECT_FALSE(visible.devices()[0].visible);
  visible.close();
  NvmlSensor all({fake.library(), true, "GPU-2"}, clock);
  ASSERT_TRUE(all.open().ok());
  EXPECT_EQ(all.channels().size(), 4U);
  all.close();
  NvmlSensor none({fake.library(), false, ""}, clock);
  const auto opened = none.open();
  ASSERT_FALSE(opened.ok());
  EXPECT_THAT(opened.error().text(), HasSubstr("--devices all"));
}

TEST(NvmlSensor, WithoutEnergyFunctionPowerRemains) {
  const FakeNvmlDir fake(JOULESCALE_FAKE_NVML_NO_ENERGY_DIR, kTwoGpus);
  FakeClock clock;
  NvmlSensor sensor({fake.library(), false, "0"}, clock);
  ASSERT_TRUE(sensor.open().ok());
  EXPECT_THAT(names_of(sensor), ElementsAre("nvml/GPU-1/power"));
  EXPECT_EQ(sensor.channels()[0].provenance, Provenance::kIntegrated);
}

TEST(NvmlSensor, APowerOfZeroIsNoValue) {
  const FakeNvmlDir fake(JOULESCALE_FAKE_NVML_DIR, R"(gpu GPU-1 A
power 0:100
energy_codes 3x*
during 0:* power_raw 0
)");
  FakeClock clock;
  NvmlSensor sensor({fake.library(), false, std::nullopt}, clock);
  EXPECT_FALSE(sensor.open().ok());
  EXPECT_THAT(sensor.missing(), Contains(HasSubstr("gives no power")));
}

TEST(NvmlSensor, NotSupportedIsANoteAndLostIsTheEnd) {
  const FakeNvmlDir fake(JOULESCALE_FAKE_NVML_DIR, R"(gpu GPU-1 A
power 0:100
energy_codes 3x*
power_codes 0x1 999x1 0x100 15x*
)");
  FakeClock clock;
  NvmlSensor sensor({fake.library(), false, std::nullopt}, clock);
  ASSERT_TRUE(sensor.open().ok());
  EXPECT_THAT(names_of(sensor), ElementsAre("nvml/GPU-1/power"));
  EXPECT_THAT(sensor.notes(), Contains(HasSubstr("gives no total energy")));
  std::vector<RawReading> readings(1);
  ReadStatus last = ReadStatus::kOk;
  for (int i = 0; i < 200 && last != ReadStatus::kGone; ++i) {
    sensor.read(readings);
    last = readings[0].status;
  }
  EXPECT_EQ(last, ReadStatus::kGone);
}

TEST(NvmlSensor, MissingLibraryAndDriverSayWhatToDo) {
  FakeClock clock;
  NvmlSensor no_library({"/nonexistent/libnvidia-ml.so.1", false, std::nullopt}, clock);
  const auto missing = no_library.open();
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().text(), HasSubstr("--nvml-library"));
  const FakeNvmlDir fake(JOULESCALE_FAKE_NVML_DIR, "init 9\ngpu GPU-1 A\n");
  NvmlSensor no_driver({fake.library(), false, std::nullopt}, clock);
  const auto refused = no_driver.open();
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().text(), HasSubstr("driver is not loaded"));
}

TEST(NvmlSensor, MigIsMeasuredAsTheWholeGpu) {
  const FakeNvmlDir fake(JOULESCALE_FAKE_NVML_DIR, R"(gpu GPU-1 A
power 0:100
mig MIG-a
mig MIG-b
)");
  FakeClock clock;
  NvmlSensor sensor({fake.library(), false, "MIG-b"}, clock);
  ASSERT_TRUE(sensor.open().ok());
  EXPECT_THAT(names_of(sensor), ElementsAre("nvml/GPU-1/energy", "nvml/GPU-1/power"));
  EXPECT_TRUE(sensor.devices()[0].mig);
  EXPECT_THAT(sensor.notes(), Contains(HasSubstr("whole GPU")));
}

/// Curves and clocks of FakeClock: time 0 is its start.
constexpr const char* kFields = R"(epoch_ns 1000000000000
wall_epoch_ns 1700001000000000000
gpu GPU-1 A
update_ms 100
power 0:100 100:1100
power_fields instant average module:2.5
gpu GPU-2 A
power 0:50
power_fields average module:1
)";

class NvmlPowerFields : public ::testing::Test {
 protected:
  void set_time(double seconds) const {
    testing::fake_nvml_control<void(double)>(fake_.library(), "fake_nvml_set_time")(seconds);
  }

  FakeNvmlDir fake_{JOULESCALE_FAKE_NVML_DIR, kFields};
  FakeClock clock_;
  NvmlSensor sensor_{{fake_.library()}, clock_};
};

TEST_F(NvmlPowerFields, InstantComesFirstAndModulePowerIsShownApart) {
  set_time(0.0);
  ASSERT_TRUE(sensor_.open().ok());
  EXPECT_THAT(names_of(sensor_),
              ElementsAre("nvml/GPU-1/energy",
                          "nvml/GPU-1/power_instant",
                          "nvml/GPU-1/module_instant",
                          "nvml/GPU-2/energy",
                          "nvml/GPU-2/power_average"))
      << "a module with just the GPU's power is none";
  const Channel& module = sensor_.channels()[2];
  EXPECT_EQ(module.domain, Domain::kModule);
  EXPECT_FALSE(is_counted(module.domain));
  EXPECT_NE(module.overlap_group, sensor_.channels()[1].overlap_group);
}

TEST_F(NvmlPowerFields, AValueHasItsOwnTimeOnTheMonotonicClock) {
  set_time(0.0);
  ASSERT_TRUE(sensor_.open().ok());
  const Nanoseconds start = clock_.monotonic_now();
  std::vector<RawReading> readings(5);
  clock_.advance(std::chrono::milliseconds(2040));
  const double open_s = to_seconds(start - std::chrono::seconds(1000)).value();
  set_time(open_s + 2.04);
  sensor_.read(readings);
  const RawReading& power = readings[1];
  ASSERT_EQ(power.status, ReadStatus::kOk);
  const double sampled_s = std::floor((open_s + 2.04) / 0.1) * 0.1;
  EXPECT_NEAR(to_seconds(power.before - std::chrono::seconds(1000)).value(), sampled_s, 1e-5);
  EXPECT_EQ(power.before, power.after);
  EXPECT_NEAR(static_cast<double>(power.raw), 1e3 * (100.0 + 10.0 * sampled_s), 1.0);
  EXPECT_NEAR(static_cast<double>(readings[2].raw), 2.5 * static_cast<double>(power.raw), 3.0);
}

TEST_F(NvmlPowerFields, ReadingsOfOneSampleAreTheSameSample) {
  set_time(0.0);
  ASSERT_TRUE(sensor_.open().ok());
  std::vector<RawReading> first(5);
  std::vector<RawReading> second(5);
  sensor_.read(first);
  clock_.advance(std::chrono::milliseconds(30));
  sensor_.read(second);
  EXPECT_EQ(second[1].before, first[1].before);
  EXPECT_LT(second[1].before, second[0].before) << "the counter was read now";
  clock_.step_wall(std::chrono::hours(-1));
  sensor_.read(second);
  EXPECT_EQ(second[1].before, first[1].before) << "whatever the wall clock did since";
  set_time(0.25);
  clock_.advance(std::chrono::milliseconds(220));
  sensor_.read(second);
  EXPECT_EQ(second[1].status, ReadStatus::kMissing)
      << "a time that cannot be is no reason to take now";
  clock_.step_wall(std::chrono::hours(1));
  sensor_.read(second);
  EXPECT_EQ(second[1].status, ReadStatus::kOk);
  EXPECT_GT(second[1].before, first[1].before);
}

TEST(NvmlSensor, ForcedRateKnowsNoLeastPeriod) {
  FakeClock clock;
  const NvmlSensor usual({"x"}, clock);
  const NvmlSensor forced({"x", false, std::nullopt, true}, clock);
  EXPECT_EQ(usual.min_read_period(), std::chrono::milliseconds(50));
  EXPECT_EQ(forced.min_read_period(), Nanoseconds(0));
}

const std::string kMetrics =
    std::string("gpu GPU-1 A\npower 0:100\n") + testing::kEveryMetric + R"(gpu GPU-2 A
power 0:100
metric temperature 40
metric gpu_utilization 3
)";

TEST(NvmlMetricsSensor, EachMetricIsThereOrLeftOutAlone) {
  const FakeNvmlDir fake(JOULESCALE_FAKE_NVML_DIR, kMetrics);
  FakeClock clock;
  NvmlMetricsSensor sensor({fake.library()}, clock);
  ASSERT_TRUE(sensor.open().ok());
  EXPECT_TRUE(sensor.only_metrics());
  EXPECT_THAT(names_of(sensor),
              ElementsAre("nvml/GPU-1/gpu_utilization",
                          "nvml/GPU-1/memory_utilization",
                          "nvml/GPU-1/memory_used",
                          "nvml/GPU-1/sm_clock",
                          "nvml/GPU-1/temperature",
                          "nvml/GPU-1/throttle_reasons",
                          "nvml/GPU-1/power_limit",
                          "nvml/GPU-2/gpu_utilization",
                          "nvml/GPU-2/temperature"));
  EXPECT_THAT(sensor.notes(), Contains(HasSubstr("GPU-2 gives no sm_clock (code 3)")));
  EXPECT_THAT(sensor.notes(), Contains(HasSubstr("GPU-2 gives no memory_utilization")));
  std::vector<RawReading> readings(9);
  sensor.read(readings);
  const std::vector<std::uint64_t> expected = {
      87, 40, 60'000'000'000, 1980, 71, 36, 700'000, 3, 40};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(readings[i].status, ReadStatus::kOk);
    EXPECT_EQ(readings[i].raw, expected[i]) << sensor.channels()[i].name;
    EXPECT_EQ(sensor.channels()[i].quantity, Quantity::kMetric);
    EXPECT_TRUE(is_consistent(sensor.channels()[i]));
  }
  EXPECT_EQ(sensor.channels()[5].inputs.at("5"), "sw_thermal_slowdown");
}

TEST(NvmlMetricsSensor, SeesOnlyWhatTheCommandMayUse) {
  const FakeNvmlDir fake(JOULESCALE_FAKE_NVML_DIR, kMetrics);
  FakeClock clock;
  NvmlMetricsSensor sensor({fake.library(), false, "GPU-2"}, clock);
  ASSERT_TRUE(sensor.open().ok());
  EXPECT_EQ(sensor.channels().size(), 2U);
}

}  // namespace
}  // namespace joulescale
