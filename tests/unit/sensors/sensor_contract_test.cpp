// SPDX-License-Identifier: Apache-2.0
// What every sensor promises, checked on each backend against its fake.
#include <algorithm>
#include <functional>
#include <memory>

#include <gtest/gtest.h>

#include "joulescale/sensors/catalogue.h"
#include "joulescale/sensors/nvml/nvml_metrics_sensor.h"
#include "joulescale/sensors/nvml/nvml_sensor.h"
#include "joulescale/sensors/perf/perf_sensor.h"
#include "joulescale/sensors/powercap/powercap_sensor.h"

#include "tests/support/fake_clock.h"
#include "tests/support/fake_nvml_dir.h"
#include "tests/support/fake_perf.h"
#include "tests/support/powercap_tree.h"

namespace joulescale {
namespace {

using testing::FakeClock;
using testing::FakeNvmlDir;
using testing::FakePerfEvents;
using testing::PowercapTree;

struct World {
  PowercapTree tree;
  FakeNvmlDir nvml{
      JOULESCALE_FAKE_NVML_DIR,
      "gpu GPU-1 A\nstart_mj 1\npower 0:100\nmetric temperature 40\nmetric throttle_reasons 1\n"};
  FakePerfEvents perf;
  FakeClock clock;

  World() {
    testing::add_power_pmu(tree.root(), "0");
    testing::add_cpu(tree.root(), 0, 0);
    testing::add_power_event(tree.root(), "energy-pkg", 2);
    tree.add_zone("intel-rapl:0", "package-0", 100);
    tree.add_zone("intel-rapl:0:0", "dram", 100);
    tree.set_proc_stat(4, 100);
    tree.set_memory_kib(1 << 20);
  }
};

struct Backend {
  const char* name;
  std::function<std::unique_ptr<Sensor>(World&)> make;
};

class SensorContract : public ::testing::TestWithParam<Backend> {
 protected:
  World world_;
  std::unique_ptr<Sensor> sensor_ = GetParam().make(world_);
};

TEST(RawUnit, OneJouleAndOneWattInEachUnit) {
  EXPECT_DOUBLE_EQ(1'000'000 * si_per_raw_unit(RawUnit::kMicrojoule), 1.0);
  EXPECT_DOUBLE_EQ(1'000 * si_per_raw_unit(RawUnit::kMillijoule), 1.0);
  EXPECT_DOUBLE_EQ(1'000 * si_per_raw_unit(RawUnit::kMilliwatt), 1.0);
  EXPECT_DOUBLE_EQ(65'536.0 * si_per_raw_unit(RawUnit::kJouleOver2To16), 1.0);
  for (int i = 0; i <= static_cast<int>(kLastRawUnit); ++i) {
    EXPECT_GT(si_per_raw_unit(static_cast<RawUnit>(i)), 0.0);
    EXPECT_NE(raw_unit_name(static_cast<RawUnit>(i)), "unknown");
  }
}

TEST_P(SensorContract, ChannelsExistBetweenOpenAndClose) {
  EXPECT_EQ(sensor_->name(), GetParam().name);
  EXPECT_TRUE(sensor_->channels().empty());
  ASSERT_TRUE(sensor_->open().ok());
  std::vector<std::string> names;
  for (const Channel& channel : sensor_->channels()) {
    names.push_back(channel.name);
    EXPECT_FALSE(channel.overlap_group.empty());
    EXPECT_FALSE(channel.instrument_accuracy.empty());
    EXPECT_GT(channel.plausible_power.value(), 0.0);
    EXPECT_TRUE(is_consistent(channel)) << channel.name;
    EXPECT_EQ(channel.quantity == Quantity::kMetric, sensor_->only_metrics());
    EXPECT_EQ(channel.inputs.empty(),
              channel.provenance != Provenance::kEstimated && channel.unit != RawUnit::kBitMask);
  }
  ASSERT_FALSE(names.empty());
  sensor_->close();
  sensor_->close();
  EXPECT_TRUE(sensor_->channels().empty());
  ASSERT_TRUE(sensor_->open().ok());
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(sensor_->channels()[i].name, names[i]);
  }
}

TEST_P(SensorContract, EveryChannelReadsWithItsOwnTimes) {
  ASSERT_TRUE(sensor_->open().ok());
  std::vector<RawReading> readings(sensor_->channels().size());
  sensor_->read(readings);
  for (const RawReading& reading : readings) {
    EXPECT_EQ(reading.status, ReadStatus::kOk);
    EXPECT_GT(reading.before.count(), 0);
    EXPECT_LE(reading.before, reading.after);
  }
}

TEST_P(SensorContract, CountersNeverFall) {
  ASSERT_TRUE(sensor_->open().ok());
  std::vector<RawReading> earlier(sensor_->channels().size());
  std::vector<RawReading> later(sensor_->channels().size());
  sensor_->read(earlier);
  world_.clock.advance(std::chrono::seconds(1));
  sensor_->read(later);
  for (std::size_t i = 0; i < later.size(); ++i) {
    if (sensor_->channels()[i].behavior == Behavior::kCounter) {
      EXPECT_GE(later[i].raw, earlier[i].raw);
    }
  }
}

TEST_P(SensorContract, AShortBufferIsNotOverrun) {
  ASSERT_TRUE(sensor_->open().ok());
  std::vector<RawReading> one(1);
  sensor_->read(one);
  EXPECT_EQ(one[0].status, ReadStatus::kOk);
  sensor_->read({});
}

INSTANTIATE_TEST_SUITE_P(
    Backends,
    SensorContract,
    ::testing::Values(
        Backend{"powercap",
                [](World& world) -> std::unique_ptr<Sensor> {
                  return std::make_unique<PowercapSensor>(world.tree.root(), world.clock);
                }},
        Backend{"perf",
                [](World& world) -> std::unique_ptr<Sensor> {
                  return std::make_unique<PerfSensor>(world.tree.root(), &world.perf, world.clock);
                }},
        Backend{"nvml",
                [](World& world) -> std::unique_ptr<Sensor> {
                  return std::make_unique<NvmlSensor>(NvmlOptions{world.nvml.library(), true},
                                                      world.clock);
                }},
        Backend{"nvml-metrics",
                [](World& world) -> std::unique_ptr<Sensor> {
                  return std::make_unique<NvmlMetricsSensor>(
                      NvmlOptions{world.nvml.library(), true}, world.clock);
                }},
        Backend{"load",
                [](World& world) -> std::unique_ptr<Sensor> {
                  return std::make_unique<LoadSensor>(world.tree.root(), std::nullopt, world.clock);
                }},
        Backend{"estimate",
                [](World& world) -> std::unique_ptr<Sensor> {
                  return std::make_unique<EstimateSensor>(world.tree.root(),
                                                          std::set{Domain::kCpu, Domain::kDram},
                                                          EstimateOptions(),
                                                          world.clock);
                }}),
    [](const auto& backend) {
      std::string name = backend.param.name;
      std::ranges::replace(name, '-', '_');
      return name;
    });

}  // namespace
}  // namespace joulescale
