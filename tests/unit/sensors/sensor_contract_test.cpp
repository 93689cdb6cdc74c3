// SPDX-License-Identifier: Apache-2.0
// What every sensor promises, checked on each backend against its fake.
#include <functional>
#include <memory>

#include <gtest/gtest.h>

#include "joulescale/sensors/catalogue.h"
#include "joulescale/sensors/nvml/nvml_sensor.h"
#include "joulescale/sensors/powercap/powercap_sensor.h"

#include "tests/support/fake_clock.h"
#include "tests/support/fake_nvml_dir.h"
#include "tests/support/powercap_tree.h"

namespace joulescale {
namespace {

using testing::FakeClock;
using testing::FakeNvmlDir;
using testing::PowercapTree;

struct World {
  PowercapTree tree;
  FakeNvmlDir nvml{JOULESCALE_FAKE_NVML_DIR, "gpu GPU-1 A\npower 0:100\n"};
  FakeClock clock;

  World() {
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
    EXPECT_EQ(channel.behavior == Behavior::kCounter, channel.quantity == Quantity::kEnergy);
    EXPECT_EQ(channel.inputs.empty(), channel.provenance != Provenance::kEstimated);
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

INSTANTIATE_TEST_SUITE_P(Backends,
                         SensorContract,
                         ::testing::Values(Backend{"powercap",
                                                   [](World& world) -> std::unique_ptr<Sensor> {
                                                     return std::make_unique<PowercapSensor>(
                                                         world.tree.root(), world.clock);
                                                   }},
                                           Backend{"nvml",
                                                   [](World& world) -> std::unique_ptr<Sensor> {
                                                     return std::make_unique<NvmlSensor>(
                                                         world.nvml.library(),
                                                         true,
                                                         std::nullopt,
                                                         world.clock);
                                                   }},
                                           Backend{"estimate",
                                                   [](World& world) -> std::unique_ptr<Sensor> {
                                                     return std::make_unique<EstimateSensor>(
                                                         world.tree.root(),
                                                         std::set{Domain::kCpu, Domain::kDram},
                                                         EstimateOptions(),
                                                         world.clock);
                                                   }}),
                         [](const auto& backend) { return std::string(backend.param.name); });

}  // namespace
}  // namespace joulescale
