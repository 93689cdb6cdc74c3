// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

std::vector<std::string> channel_names(const Sensor& sensor) {
  std::vector<std::string> names;
  for (const Channel& channel : sensor.channels()) {
    names.push_back(channel.name);
  }
  return names;
}

TEST(NvmlSensor, ReadsEnergyAndPowerOfEachGpu) {
  const FakeNvmlDir fake(JOULESCALE_FAKE_NVML_DIR, kTwoGpus);
  FakeClock clock;
  NvmlSensor sensor(fake.library(), false, std::nullopt, clock);
  ASSERT_TRUE(sensor.open().ok());
  EXPECT_THAT(
      channel_names(sensor),
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
  NvmlSensor visible(fake.library(), false, "GPU-2", clock);
  ASSERT_TRUE(visible.open().ok());
  EXPECT_THAT(channel_names(visible), ElementsAre("nvml/GPU-2/energy", "nvml/GPU-2/power"));
  EXPECT_FALSE(visible.devices()[0].visible);
  visible.close();
  NvmlSensor all(fake.library(), true, "GPU-2", clock);
  ASSERT_TRUE(all.open().ok());
  EXPECT_EQ(all.channels().size(), 4U);
  all.close();
  NvmlSensor none(fake.library(), false, "", clock);
  const auto opened = none.open();
  ASSERT_FALSE(opened.ok());
  EXPECT_THAT(opened.error().text(), HasSubstr("--devices all"));
}

TEST(NvmlSensor, WithoutEnergyFunctionPowerRemains) {
  const FakeNvmlDir fake(JOULESCALE_FAKE_NVML_NO_ENERGY_DIR, kTwoGpus);
  FakeClock clock;
  NvmlSensor sensor(fake.library(), false, "0", clock);
  ASSERT_TRUE(sensor.open().ok());
  EXPECT_THAT(channel_names(sensor), ElementsAre("nvml/GPU-1/power"));
  EXPECT_EQ(sensor.channels()[0].provenance, Provenance::kIntegrated);
}

TEST(NvmlSensor, NotSupportedIsANoteAndLostIsTheEnd) {
  const FakeNvmlDir fake(JOULESCALE_FAKE_NVML_DIR, R"(gpu GPU-1 A
power 0:100
energy_codes 3x*
power_codes 0x1 999x1 0x100 15x*
)");
  FakeClock clock;
  NvmlSensor sensor(fake.library(), false, std::nullopt, clock);
  ASSERT_TRUE(sensor.open().ok());
  EXPECT_THAT(channel_names(sensor), ElementsAre("nvml/GPU-1/power"));
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
  NvmlSensor no_library("/nonexistent/libnvidia-ml.so.1", false, std::nullopt, clock);
  const auto missing = no_library.open();
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().text(), HasSubstr("--nvml-library"));
  const FakeNvmlDir fake(JOULESCALE_FAKE_NVML_DIR, "init 9\ngpu GPU-1 A\n");
  NvmlSensor no_driver(fake.library(), false, std::nullopt, clock);
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
  NvmlSensor sensor(fake.library(), false, "MIG-b", clock);
  ASSERT_TRUE(sensor.open().ok());
  EXPECT_THAT(channel_names(sensor), ElementsAre("nvml/GPU-1/energy", "nvml/GPU-1/power"));
  EXPECT_TRUE(sensor.devices()[0].mig);
  EXPECT_THAT(sensor.notes(), Contains(HasSubstr("whole GPU")));
}

}  // namespace
}  // namespace joulescale
