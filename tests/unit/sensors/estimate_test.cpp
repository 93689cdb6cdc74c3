// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "joulescale/sensors/estimate/estimate_sensor.h"
#include "joulescale/sensors/estimate/proc_files.h"

#include "tests/support/fake_clock.h"
#include "tests/support/powercap_tree.h"

namespace joulescale {
namespace {

using testing::FakeClock;
using ::testing::HasSubstr;
using testing::PowercapTree;

TEST(ProcFiles, BusyTimeIsUserNiceSystemIrqSoftirq) {
  const auto times = parse_proc_stat("cpu  1 2 4 1000 1000 8 16 999 5 5\ncpu0 1\ncpu1 1\nintr 5\n");
  ASSERT_TRUE(times.has_value());
  EXPECT_EQ(times->busy_ticks, 31U);
  EXPECT_EQ(times->num_threads, 2);
  EXPECT_FALSE(parse_proc_stat("cpu  1 2 x 4 5 6 7\n"));
  EXPECT_FALSE(parse_proc_stat("intr 1\n"));
  EXPECT_FALSE(parse_proc_stat(""));
}

TEST(ProcFiles, MemoryIsInKibibytes) {
  EXPECT_EQ(parse_memory_bytes("MemFree: 1 kB\nMemTotal:  2048 kB\n"), 2048U * 1024U);
  EXPECT_FALSE(parse_memory_bytes("MemTotal: 99999999999999999999 kB\n"));
  EXPECT_FALSE(parse_memory_bytes("MemFree: 1 kB\n"));
  EXPECT_EQ(parse_memory_used_bytes("MemTotal: 10 kB\nMemAvailable: 4 kB\n"), 6U * 1024U);
  EXPECT_FALSE(parse_memory_used_bytes("MemTotal: 10 kB\nMemFree: 4 kB\n"));
  EXPECT_FALSE(parse_memory_used_bytes("MemTotal: 10 kB\nMemAvailable: 11 kB\n"));
}

TEST(EstimateSensor, CpuEnergyIsIdleTimesTimePlusExtraTimesBusyTime) {
  PowercapTree tree;
  tree.set_proc_stat(8, 1000);
  tree.set_memory_kib(16ULL << 20);
  FakeClock clock;
  EstimateSensor sensor(tree.root(), {Domain::kCpu, Domain::kDram}, {}, clock);
  ASSERT_TRUE(sensor.open().ok());
  ASSERT_EQ(sensor.channels().size(), 2U);
  EXPECT_EQ(sensor.channels()[0].provenance, Provenance::kEstimated);
  EXPECT_EQ(sensor.channels()[0].inputs.at("hardware_threads"), "8");
  std::vector<RawReading> first(2);
  sensor.read(first);
  clock.advance(std::chrono::seconds(10));
  tree.set_proc_stat(8, 1000 + 3000);  // 30 busy thread seconds at 100 ticks a second
  std::vector<RawReading> readings(2);
  sensor.read(readings);
  // 8 x 0.4 W x 10 s + 3.6 W x 30 s; 2 modules x 5 W x 10 s
  EXPECT_EQ(readings[0].raw - first[0].raw, 140'000'000U);
  EXPECT_EQ(readings[1].raw - first[1].raw, 100'000'000U);
  tree.set_proc_stat(8, 2000);  // a CPU went offline: the sum fell, the estimate does not
  sensor.read(readings);
  EXPECT_EQ(readings[0].raw - first[0].raw, 140'000'000U);
}

TEST(EstimateSensor, ATickOfBusyTimeNeverExceedsTheModelsHighestPower) {
  PowercapTree tree;
  tree.set_proc_stat(8, 1000);
  tree.set_memory_kib(16ULL << 20);
  FakeClock clock;
  EstimateSensor sensor(tree.root(), {Domain::kCpu}, {}, clock);
  ASSERT_TRUE(sensor.open().ok());
  EXPECT_DOUBLE_EQ(sensor.channels()[0].plausible_power.value(), 32.0);
  std::vector<RawReading> first(1);
  std::vector<RawReading> readings(1);
  sensor.read(first);
  tree.set_proc_stat(8, 1008);  // every thread's tick falls into this millisecond
  clock.advance(std::chrono::milliseconds(1));
  sensor.read(readings);
  EXPECT_LE(readings[0].raw - first[0].raw, 32'001U) << "32 W x 1 ms, in uJ";
  clock.advance(std::chrono::seconds(1));
  sensor.read(readings);
  // 8 x 0.4 W x 1.001 s + 3.6 W x 0.08 s: nothing is lost
  EXPECT_NEAR(static_cast<double>(readings[0].raw - first[0].raw), 3'491'200.0, 2.0);
}

TEST(EstimateSensor, WithoutProcThereIsNoEstimate) {
  const testing::TempDir empty;
  FakeClock clock;
  EstimateSensor sensor(empty.path(), {Domain::kCpu, Domain::kDram}, {}, clock);
  const auto opened = sensor.open();
  ASSERT_FALSE(opened.ok());
  EXPECT_THAT(opened.error().text(), HasSubstr("proc/stat"));
}

TEST(EstimateSensor, MemoryModulesAndTheirPower) {
  constexpr std::uint64_t kGib = std::uint64_t{1} << 30;
  EXPECT_EQ(guess_memory_modules(4 * kGib), 2);
  EXPECT_EQ(guess_memory_modules(64 * kGib), 4);
  EXPECT_EQ(guess_memory_modules(256 * kGib), 8);
  EXPECT_EQ(guess_memory_modules(2048 * kGib), 16);
  EXPECT_DOUBLE_EQ(estimate_memory_power(1, false).value(), 10.0);
  EXPECT_DOUBLE_EQ(estimate_memory_power(4, false).value(), 20.0);
  EXPECT_DOUBLE_EQ(estimate_memory_power(8, false).value(), 38.0);
  EXPECT_DOUBLE_EQ(estimate_memory_power(16, false).value(), 70.0);
  EXPECT_DOUBLE_EQ(estimate_memory_power(32, false).value(), 126.0);
  EXPECT_DOUBLE_EQ(estimate_memory_power(1, true).value(), 3.0);
}

}  // namespace
}  // namespace joulescale
