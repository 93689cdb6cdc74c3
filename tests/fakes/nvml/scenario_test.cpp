// SPDX-License-Identifier: Apache-2.0
// The fake must be right before what it judges can be: closed forms against sums, faults in time.
#include "tests/fakes/nvml/scenario.h"

#include <cmath>
#include <fstream>

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace fake_nvml {
namespace {

Device device_of(const std::string& lines) {
  const joulescale::testing::TempDir directory;
  const std::string file = directory.path() / "scenario";
  std::ofstream(file) << "gpu GPU-1 Fake\n" << lines;
  return read_scenario(file).devices.at(0);
}

class Shapes : public ::testing::TestWithParam<const char*> {};

TEST_P(Shapes, EnergyIsTheIntegralOfPower) {
  const PowerShape shape = device_of(GetParam()).power;
  constexpr double kStep = 1e-4;
  double sum_j = 0.0;
  for (int i = 0; i < 50'000; ++i) {
    sum_j += shape.power_at((i + 0.5) * kStep) * kStep;
    if (i % 7'777 == 0) {  // midpoints err by one step at each jump of the power, at most
      EXPECT_NEAR(shape.energy_at((i + 1) * kStep), sum_j, 0.3) << i;
    }
  }
  EXPECT_NEAR(shape.energy_at(5.0), sum_j, 0.3);
  EXPECT_DOUBLE_EQ(shape.energy_at(0.0), 0.0);
}

INSTANTIATE_TEST_SUITE_P(All,
                         Shapes,
                         ::testing::Values("power 0:100\n",
                                           "power 1:100 3:400\n",
                                           "power 1:100 2:100 2:300 4:50\n",
                                           "power -1:0 1:200\n",
                                           "sine 300 100 0.7\n",
                                           "sine 300 100 0.7 0.2\n",
                                           "square 50 400 0.3 0.25\n",
                                           "square 50 400 0.3 0.25 0.1\n"));

TEST(FakeCounter, FollowsItsRefreshes) {
  const Device device = device_of("power 0:100\nupdate_ms 100 30\nstart_mj 5\n");
  EXPECT_DOUBLE_EQ(refreshed_s(device, 0.02), 0.0);
  EXPECT_DOUBLE_EQ(refreshed_s(device, 0.25), 0.23);
  EXPECT_EQ(counter_mj(device, 0.23), 23'005U);
}

TEST(FakeCounter, ResetsJumpsScalesAndSticks) {
  const Device device = device_of(
      "power 0:100\nstart_mj 1000\ncounter_scale 0.5\nreset_at 2\njump_at 1 -400\n"
      "jump_at 3 7000\nduring 4:* stuck\n");
  EXPECT_EQ(counter_mj(device, 0.5), 26'000U);
  EXPECT_EQ(counter_mj(device, 1.5), 75'600U);
  EXPECT_EQ(counter_mj(device, 2.5), 25'000U);
  EXPECT_EQ(counter_mj(device, 3.5), 82'000U);
  EXPECT_EQ(counter_mj(device, 9.0), 107'000U);
}

TEST(FakeFaults, ReignFromTheirBeginToTheirEnd) {
  const Device device = device_of("during 1:2 energy_code 999\nduring 3:* power_raw 4294967295\n");
  EXPECT_EQ(fault_at(device, Fault::What::kEnergyCode, 0.9), nullptr);
  ASSERT_NE(fault_at(device, Fault::What::kEnergyCode, 1.0), nullptr);
  EXPECT_EQ(fault_at(device, Fault::What::kEnergyCode, 1.0)->value, 999U);
  EXPECT_EQ(fault_at(device, Fault::What::kEnergyCode, 2.0), nullptr);
  EXPECT_EQ(fault_at(device, Fault::What::kPowerRaw, 1e6)->value, 0xFFFFFFFFU);
}

}  // namespace
}  // namespace fake_nvml
