// SPDX-License-Identifier: Apache-2.0
// A simulated node on a fake clock, read through the real sensors, against closed forms.
#include "joulescale/monitor/node_meter.h"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "joulescale/sensors/powercap/powercap_sensor.h"

#include "tests/support/counter_feed.h"
#include "tests/support/fake_clock.h"
#include "tests/support/powercap_tree.h"

namespace joulescale {
namespace {

using testing::at_seconds;
using ::testing::Contains;
using testing::counter_channel;
using testing::FakeClock;
using testing::no_reading;
using ::testing::Not;
using testing::ok_reading;
using testing::power_channel;
using testing::PowercapTree;

constexpr Nanoseconds kPeriod = std::chrono::milliseconds(100);

const GroupEnergy* find_group(const NodeEnergy& energy, const std::string& group) {
  const auto found = std::ranges::find(energy.groups, group, &GroupEnergy::group);
  return found == energy.groups.end() ? nullptr : &*found;
}

Channel gpu_energy_channel() {
  Channel channel = power_channel();
  channel.name = "nvml/GPU-1/energy";
  channel.quantity = Quantity::kEnergy;
  channel.behavior = Behavior::kCounter;
  channel.unit = RawUnit::kMillijoule;
  channel.provenance = Provenance::kMeasured;
  return channel;
}

Channel estimate(Domain domain) {
  Channel channel = counter_channel(std::nullopt);
  channel.name = "estimate/" + std::string(domain_name(domain));
  channel.domain = domain;
  channel.overlap_group = channel.name;
  channel.provenance = Provenance::kEstimated;
  channel.inputs = {{"power_w", "10"}};
  return channel;
}

TEST(NodeMeter, PowercapRampWithTwoWrapsMatchesTheClosedForm) {
  constexpr std::uint64_t kRangeUj = 4'000'000'000;
  PowercapTree tree;
  FakeClock clock;
  tree.add_zone("intel-rapl:0", "package-0", 3'900'000'000, kRangeUj);
  tree.add_zone("intel-rapl:0:0", "core", 0);
  tree.add_zone("intel-rapl:0:1", "dram", 0);
  tree.add_zone("intel-rapl:1", "psys", 0);
  PowercapSensor sensor(tree.root(), clock);
  ASSERT_TRUE(sensor.open().ok());
  NodeMeter meter;
  meter.add_sensor(sensor.channels(), kPeriod);
  const Nanoseconds begin = clock.monotonic_now();
  const auto package_j = [](double t) { return 60.0 * t + 140.0 / 60.0 * t * t / 2.0; };
  std::vector<RawReading> readings(sensor.channels().size());
  const auto set_and_read = [&] {
    const double t = to_seconds(clock.monotonic_now() - begin).value();
    const auto package_uj = static_cast<std::uint64_t>((3900.0 + package_j(t)) * 1e6);
    tree.set_energy("intel-rapl:0", package_uj % kRangeUj);
    tree.set_energy("intel-rapl:0:0", static_cast<std::uint64_t>(package_j(t) * 0.8e6));
    tree.set_energy("intel-rapl:0:1", static_cast<std::uint64_t>(20e6 * t));
    tree.set_energy("intel-rapl:1", static_cast<std::uint64_t>(500e6 * t));
    sensor.read(readings);
    meter.add(0, readings);
  };
  for (int i = 0; i <= 600; ++i) {
    set_and_read();
    clock.advance(kPeriod);
  }
  const NodeEnergy energy = meter.finish(begin, begin + at_seconds(60.0));
  const double expected = package_j(60.0);
  const GroupEnergy* package = find_group(energy, "package-0");
  ASSERT_NE(package, nullptr);
  EXPECT_NEAR(package->energy.energy.value(), expected, 1e-3 * expected);
  EXPECT_EQ(package->energy.provenance, Provenance::kMeasured);
  const auto source = std::ranges::find(energy.sources, "powercap/package-0", &SourceRecord::name);
  EXPECT_EQ(source->wraps, 2U);
  EXPECT_EQ(source->resets, 0U);
  EXPECT_THAT(energy.flags, Not(Contains("wrap_ambiguous")));
  // Package and dram are added; core and psys are shown only.
  ASSERT_EQ(energy.counted.size(), 2U);
  EXPECT_EQ(energy.counted[0].name, "powercap/package-0");
  EXPECT_NEAR(find_group(energy, "psys")->energy.energy.value(), 30'000.0, 30.0);
  EXPECT_FALSE(find_group(energy, "psys")->counted);
  EXPECT_NEAR(energy.mean_power->value(), (expected + 1200.0) / 60.0, 0.2);
}

TEST(NodeMeter, KeepingTotalsOnlyChangesNoTotal) {
  const std::vector<Channel> channels = {gpu_energy_channel(), power_channel()};
  NodeMeter whole(NodeMeter::Keep::kCurves);
  NodeMeter totals(NodeMeter::Keep::kTotals);
  const Nanoseconds begin = at_seconds(1003.21);
  const Nanoseconds end = at_seconds(2503.4);
  for (NodeMeter* meter : {&whole, &totals}) {
    meter->add_sensor(channels, kPeriod);
  }
  for (int i = 0; i < 15'040; ++i) {
    const double t = 0.1 * i;
    const double power_w = 300.0 + 100.0 * std::sin(t);
    const double energy_mj = 1e3 * (300.0 * t + 100.0 * (1.0 - std::cos(t)));
    const std::vector<RawReading> readings = {
        ok_reading(1000.0 + t, static_cast<std::uint64_t>(energy_mj)),
        ok_reading(1000.0 + t, static_cast<std::uint64_t>(power_w * 1e3))};
    for (NodeMeter* meter : {&whole, &totals}) {
      meter->add(0, readings);
    }
    if (i == 40) {
      totals.keep_begin(begin);
    }
  }
  const NodeEnergy expected = whole.finish(begin, end);
  const NodeEnergy found = totals.finish(begin, end);
  ASSERT_EQ(found.groups.size(), 1U);
  EXPECT_EQ(found.groups[0].energy.energy, expected.groups[0].energy.energy);
  EXPECT_EQ(found.groups[0].energy.uncertainty, expected.groups[0].energy.uncertainty);
  EXPECT_EQ(found.groups[0].energy.integrated, expected.groups[0].energy.integrated);
}

/// A GPU at 300 W whose counter and power are refreshed every `update_s`.
NodeEnergy gpu_run(double update_s, double seconds, double counter_factor) {
  NodeMeter meter;
  const std::vector<Channel> channels = {gpu_energy_channel(), power_channel()};
  meter.add_sensor(channels, kPeriod);
  const auto sample = [&](double t) {
    const double tick = std::floor(t / update_s) * update_s;
    const std::vector<RawReading> readings = {
        ok_reading(1000.0 + t,
                   1'000'000 + static_cast<std::uint64_t>(300e3 * counter_factor * tick)),
        ok_reading(1000.0 + t, 300'000)};
    meter.add(0, readings);
  };
  for (double t = 0.0; t < seconds; t += 0.1) {
    sample(t);
  }
  sample(seconds);
  return meter.finish(at_seconds(1000.0), at_seconds(1000.0 + seconds));
}

TEST(NodeMeter, GpuCounterIsPrimaryAndPowerTheCrossCheck) {
  for (const double update_s : {0.02, 0.1, 0.5}) {
    const NodeEnergy energy = gpu_run(update_s, 30.0, 1.0);
    const GroupEnergy* gpu = find_group(energy, "GPU-1");
    ASSERT_NE(gpu, nullptr);
    EXPECT_EQ(gpu->energy.provenance, Provenance::kMeasured);
    EXPECT_NEAR(gpu->energy.energy.value(), 9000.0, gpu->energy.uncertainty->value()) << update_s;
    EXPECT_LT(gpu->energy.uncertainty->value(), 300.0 * 2.5 * std::max(update_s, 0.1));
    EXPECT_NEAR(gpu->energy.integrated->value(), 9000.0, 9.0);
    EXPECT_TRUE(energy.flags.empty()) << energy.flags[0];
  }
}

TEST(NodeMeter, CounterThatDisagreesWithPowerIsFlagged) {
  const NodeEnergy energy = gpu_run(0.02, 30.0, 0.57);
  EXPECT_THAT(energy.flags, Contains("counter_power_disagree"));
}

TEST(NodeMeter, StuckCounterFallsBackToPower) {
  const NodeEnergy energy = gpu_run(0.02, 30.0, 0.0);
  const GroupEnergy* gpu = find_group(energy, "GPU-1");
  ASSERT_NE(gpu, nullptr);
  EXPECT_EQ(gpu->energy.provenance, Provenance::kIntegrated);
  EXPECT_NEAR(gpu->energy.energy.value(), 9000.0, 9.0);
}

TEST(NodeMeter, EstimateCountsOnlyWhereNoCounterIs) {
  NodeMeter meter;
  const std::vector<Channel> counters = {counter_channel(std::nullopt)};
  const std::vector<Channel> estimates = {estimate(Domain::kCpu), estimate(Domain::kDram)};
  meter.add_sensor(counters, kPeriod);
  meter.add_sensor(estimates, kPeriod);
  for (int i = 0; i <= 100; ++i) {
    const double t = 1000.0 + 0.1 * i;
    const auto ticks = static_cast<std::uint64_t>(i);
    meter.add(0, std::vector{ok_reading(t, ticks * 10'000'000)});
    meter.add(1, std::vector{ok_reading(t, ticks * 5'000'000), ok_reading(t, ticks * 1'000'000)});
  }
  const NodeEnergy energy = meter.finish(at_seconds(1000.0), at_seconds(1010.0));
  EXPECT_EQ(energy.groups.size(), 2U);
  EXPECT_NE(find_group(energy, "package-0"), nullptr);
  EXPECT_EQ(find_group(energy, "estimate/cpu"), nullptr);
  const GroupEnergy* dram = find_group(energy, "estimate/dram");
  ASSERT_NE(dram, nullptr);
  EXPECT_EQ(dram->energy.provenance, Provenance::kEstimated);
  EXPECT_FALSE(dram->energy.uncertainty.has_value());
  ASSERT_EQ(energy.counted.size(), 2U);
  EXPECT_NE(energy.counted[0].estimated, energy.counted[1].estimated);
  EXPECT_NEAR(energy.mean_power->value(), 100.0, 0.1);
}

TEST(NodeMeter, TroubleBecomesFlags) {
  NodeMeter meter;
  const std::vector<Channel> channels = {gpu_energy_channel()};
  meter.add_sensor(channels, kPeriod);
  meter.add(0, std::vector{ok_reading(1002.0, 1000)});
  meter.add(0, std::vector{ok_reading(1003.0, 101'000)});
  meter.add(0, std::vector{ok_reading(1009.0, 701'000)});
  meter.add(0, std::vector{no_reading(1009.1, ReadStatus::kGone)});
  const NodeEnergy energy = meter.finish(at_seconds(1000.0), at_seconds(1010.0));
  for (const char* flag : {"device_lost", "late_start", "gap"}) {
    EXPECT_THAT(energy.flags, Contains(flag));
  }
  EXPECT_NEAR(energy.sources[0].late_start->value(), 2.0, 0.1);
}

TEST(NodeMeter, NothingMeasuredIsAbsentAndFlagged) {
  NodeMeter meter;
  const NodeEnergy energy = meter.finish(at_seconds(1000.0), at_seconds(1010.0));
  EXPECT_TRUE(energy.groups.empty());
  EXPECT_FALSE(energy.mean_power.has_value());
  EXPECT_THAT(energy.flags, Contains("no_sensor"));
}

}  // namespace
}  // namespace joulescale
