// SPDX-License-Identifier: Apache-2.0
// A simulated node on a fake clock, read through the real sensors, against closed forms.
#include "joulescale/monitor/node_meter.h"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "joulescale/sensors/perf/perf_sensor.h"
#include "joulescale/sensors/powercap/powercap_sensor.h"

#include "tests/support/counter_feed.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_perf.h"
#include "tests/support/powercap_tree.h"
#include "tests/support/temp_dir.h"

namespace joulescale {
namespace {

using testing::at_seconds;
using ::testing::Contains;
using testing::counter_channel;
using ::testing::ElementsAre;
using testing::FakeClock;
using testing::kSamplePeriod;
using testing::no_reading;
using ::testing::Not;
using testing::ok_reading;
using testing::power_channel;
using testing::PowercapTree;
using ::testing::UnorderedElementsAre;

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
  meter.add_sensor(sensor.channels(), kSamplePeriod);
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
    clock.advance(kSamplePeriod);
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
    meter->add_sensor(channels, kSamplePeriod);
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

TEST(NodeMeter, ALaterBeginTakesThePlaceOfAnEarlierOne) {
  const std::vector<Channel> channels = {counter_channel(std::nullopt)};
  NodeMeter meter(NodeMeter::Keep::kTotals);
  meter.add_sensor(channels, kSamplePeriod);
  const Nanoseconds idle_start = at_seconds(1005.0);
  const Nanoseconds run_start = at_seconds(1300.0);
  const Nanoseconds run_end = at_seconds(1600.0);
  std::optional<NodeMeter> idle;
  for (int i = 0; i < 6'005; ++i) {  // 20 W, from `run_start` on 120 W
    const double t = 0.1 * i;
    const double energy_uj = 1e6 * (20.0 * t + 100.0 * std::max(t - 300.0, 0.0));
    const std::vector<RawReading> readings = {
        ok_reading(1000.0 + t, static_cast<std::uint64_t>(energy_uj))};
    meter.add(0, readings);
    if (i == 50) {
      meter.keep_begin(idle_start);
    }
    if (i == 3000) {
      idle = meter;
      meter.keep_begin(run_start);
    }
  }
  const NodeEnergy before = idle->finish(idle_start, run_start);
  const NodeEnergy after = meter.finish(run_start, run_end);
  ASSERT_EQ(before.groups.size(), 1U);
  EXPECT_NEAR(before.groups[0].energy.energy.value(), 20.0 * 295.0, 0.1);
  ASSERT_EQ(after.groups.size(), 1U);
  EXPECT_NEAR(after.groups[0].energy.energy.value(), 120.0 * 300.0, 0.5);
}

/// A GPU at 300 W whose counter and power are refreshed every `update_s`; the counter rests from
/// `stuck_from` to `stuck_to`.
NodeEnergy gpu_run(double update_s,
                   double seconds,
                   double counter_factor,
                   double stuck_from = 1e9,
                   double stuck_to = 1e9) {
  NodeMeter meter;
  const std::vector<Channel> channels = {gpu_energy_channel(), power_channel()};
  meter.add_sensor(channels, kSamplePeriod);
  const auto sample = [&](double t) {
    const double rests_at = t >= stuck_from && t < stuck_to ? stuck_from : t;
    const double tick = std::floor(rests_at / update_s) * update_s;
    const std::vector<RawReading> readings = {
        ok_reading(1000.0 + t,
                   1'000'000 + static_cast<std::uint64_t>(300e3 * counter_factor * tick)),
        ok_reading(1000.0 + t, 300'000)};
    meter.add(0, readings);
  };
  for (const double t : testing::times(0.0, seconds, 0.1)) {
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

TEST(NodeMeter, CounterThatDisagreesWithPowerIsFlaggedAndBothAreKept) {
  const NodeEnergy energy = gpu_run(0.02, 30.0, 0.57);
  EXPECT_THAT(energy.flags, ElementsAre("counter_power_disagree"));
  const GroupEnergy* gpu = find_group(energy, "GPU-1");
  EXPECT_EQ(gpu->energy.provenance, Provenance::kMeasured);
  EXPECT_NEAR(gpu->energy.energy.value(), 0.57 * 9000.0, 9.0);
  EXPECT_GE(gpu->energy.uncertainty->value(),
            0.42 * 9000.0);  // it may be the counter that is wrong
  EXPECT_NEAR(gpu->energy.integrated->value(), 9000.0, 9.0);
}

TEST(NodeMeter, ACounterThatStopsShortlyBeforeTheEndGivesWayToThePower) {
  // 100 W, from 10.75 s on 500 W, of which the counter shows nothing.
  NodeMeter meter;
  meter.add_sensor(std::vector{gpu_energy_channel(), power_channel()}, kSamplePeriod);
  for (int i = 0; i <= 160; ++i) {
    const double t = 0.01 * i;
    const auto counter_mj = static_cast<std::uint64_t>(1e6 + 100e3 * std::min(t, 0.7));
    meter.add(0,
              std::vector{ok_reading(1000.0 + t, counter_mj),
                          ok_reading(1000.0 + t, t < 0.75 ? 100'000 : 500'000)});
  }
  const NodeEnergy energy = meter.finish(at_seconds(1000.0), at_seconds(1001.6));
  const GroupEnergy* gpu = find_group(energy, "GPU-1");
  ASSERT_NE(gpu, nullptr);
  EXPECT_NEAR(gpu->energy.energy.value(), 75.0 + 425.0, gpu->energy.uncertainty->value());
  EXPECT_EQ(gpu->energy.provenance, Provenance::kIntegrated);
}

TEST(NodeMeter, DifferenceWithinFivePercentIsNoDisagreement) {
  EXPECT_TRUE(gpu_run(0.02, 300.0, 0.96).flags.empty());
  EXPECT_FALSE(gpu_run(0.02, 300.0, 0.94).flags.empty());
}

TEST(NodeMeter, CounterThatDoesNotCountFallsBackToPower) {
  struct Case {
    double factor;
    double stuck_from;
  };
  // Never moves; thousandfold off either way; moves no more after 10 s.
  for (const auto& [factor, stuck_from] :
       {Case{0.0, 1e9}, Case{1e-3, 1e9}, Case{3.2, 1e9}, Case{1.0, 10.0}}) {
    const NodeEnergy energy = gpu_run(0.02, 30.0, factor, stuck_from);
    const GroupEnergy* gpu = find_group(energy, "GPU-1");
    ASSERT_NE(gpu, nullptr);
    EXPECT_EQ(gpu->energy.provenance, Provenance::kIntegrated) << factor << ' ' << stuck_from;
    EXPECT_NEAR(gpu->energy.energy.value(), 9000.0, 9.0);
    EXPECT_THAT(energy.flags, ElementsAre("counter_power_disagree"));
    EXPECT_EQ(energy.counted.at(0).quantity, Quantity::kPower);
  }
}

TEST(NodeMeter, CounterThatRestsAndCatchesUpIsBelieved) {
  const NodeEnergy energy = gpu_run(0.02, 30.0, 1.0, 10.0, 14.0);
  EXPECT_EQ(find_group(energy, "GPU-1")->energy.provenance, Provenance::kMeasured);
  EXPECT_THAT(energy.flags, ElementsAre("gap")) << "it stood still for 4 s";
}

TEST(NodeMeter, APackageThatNeverMovesBesideOneThatDoesIsFlagged) {
  Channel still = counter_channel(std::nullopt);
  still.name = "powercap/package-1";
  still.overlap_group = "package-1";
  for (const double length_s : {0.9, 5.0}) {
    SCOPED_TRACE(length_s);
    NodeMeter meter;
    meter.add_sensor(std::vector{counter_channel(std::nullopt), still}, kSamplePeriod);
    for (const double t : testing::times(0.0, length_s + 0.05, 0.1)) {  // 100 W
      meter.add(0,
                std::vector{ok_reading(1000.0 + t, static_cast<std::uint64_t>(1e8 * t)),
                            ok_reading(1000.0 + t, 77)});
    }
    const NodeEnergy energy = meter.finish(at_seconds(1000.0), at_seconds(1000.0 + length_s));
    EXPECT_EQ(energy.groups.size(), 1U);
    EXPECT_THAT(energy.flags, ElementsAre("gap"));
    EXPECT_THAT(energy.still, ElementsAre("powercap/package-1"));
  }
}

TEST(NodeMeter, AfterAResetThePowerIsBelievedWhereItIsMuchSurer) {
  NodeMeter meter;
  meter.add_sensor(std::vector{gpu_energy_channel(), power_channel()}, kSamplePeriod);
  std::uint64_t counter_mj = 1'000'000'000;
  for (int i = 0; i <= 300; ++i) {
    if (i == 150) {
      counter_mj = 500;
    }
    RawReading counter = ok_reading(1000.0 + 0.1 * i, counter_mj);
    if (i >= 135 && i < 155) {
      counter.status = ReadStatus::kMissing;  // so that the reset hides two seconds
    }
    meter.add(0, std::vector{counter, ok_reading(1000.0 + 0.1 * i, 300'000)});
    counter_mj += 30'000;
  }
  const NodeEnergy energy = meter.finish(at_seconds(1000.0), at_seconds(1030.0));
  const GroupEnergy* gpu = find_group(energy, "GPU-1");
  ASSERT_NE(gpu, nullptr);
  EXPECT_EQ(gpu->energy.provenance, Provenance::kIntegrated);
  EXPECT_NEAR(gpu->energy.energy.value(), 9000.0, gpu->energy.uncertainty->value());
  EXPECT_THAT(energy.flags, Contains("counter_reset"));
}

TEST(NodeMeter, CounterThatFallsAgainAndAgainFallsBackToPower) {
  NodeMeter meter;
  meter.add_sensor(std::vector{gpu_energy_channel(), power_channel()}, kSamplePeriod);
  std::uint64_t counter_mj = 1'000'000;
  for (int i = 0; i <= 300; ++i) {
    meter.add(0,
              std::vector{ok_reading(1000.0 + 0.1 * i, counter_mj),
                          ok_reading(1000.0 + 0.1 * i, 300'000)});
    counter_mj += 30'000;
    if (i % 10 == 9) {
      counter_mj -= 150'000;
    }
  }
  const NodeEnergy energy = meter.finish(at_seconds(1000.0), at_seconds(1030.0));
  const GroupEnergy* gpu = find_group(energy, "GPU-1");
  EXPECT_EQ(gpu->energy.provenance, Provenance::kIntegrated);
  EXPECT_NEAR(gpu->energy.energy.value(), 9000.0, 9.0);
  EXPECT_THAT(energy.flags, ElementsAre("counter_power_disagree", "counter_reset"));
}

TEST(NodeMeter, ShortRunsDoNotJudgeTheCounter) {
  const NodeEnergy energy = gpu_run(2.5, 2.0, 1.0);  // no move within the run
  EXPECT_EQ(find_group(energy, "GPU-1")->energy.provenance, Provenance::kIntegrated);
  EXPECT_TRUE(energy.flags.empty());
}

TEST(NodeMeter, ValuesThatStayAwayAreAGap) {
  NodeMeter meter;
  meter.add_sensor(std::vector{counter_channel(std::nullopt)}, kSamplePeriod);
  for (int i = 0; i <= 50; ++i) {
    const double t = 1000.0 + 0.1 * i;
    meter.add(0,
              std::vector{i < 30 ? ok_reading(t, static_cast<std::uint64_t>(i) * 10'000'000)
                                 : no_reading(t)});
  }
  const NodeEnergy energy = meter.finish(at_seconds(1000.0), at_seconds(1005.0));
  EXPECT_THAT(energy.flags, ElementsAre("gap"));
  const GroupEnergy* cpu = find_group(energy, "package-0");
  EXPECT_NEAR(cpu->energy.energy.value(), 290.0, 1.0);
  EXPECT_GE(cpu->energy.uncertainty->value(), 210.0);
}

TEST(NodeMeter, EstimateCountsOnlyWhereNoCounterIs) {
  NodeMeter meter;
  const std::vector<Channel> counters = {counter_channel(std::nullopt)};
  const std::vector<Channel> estimates = {estimate(Domain::kCpu), estimate(Domain::kDram)};
  meter.add_sensor(counters, kSamplePeriod);
  meter.add_sensor(estimates, kSamplePeriod);
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

Channel counter_of(const std::string& source,
                   const std::string& group,
                   Domain domain = Domain::kCpu) {
  Channel channel = counter_channel(std::nullopt);
  channel.name = source + '/' + group;
  channel.overlap_group = group;
  channel.domain = domain;
  return channel;
}

/// Counters of constant power, each read every 0.1 s for 10 s.
struct SteadyCounter {
  Channel channel;
  double watts = 0.0;
  double first_s = 0.0;  // of its readings
  double reset_s = 1e9;  // when it starts at 0 again
};

NodeEnergy steady_run(const std::vector<SteadyCounter>& counters) {
  NodeMeter meter;
  for (const SteadyCounter& counter : counters) {
    meter.add_sensor(std::span(&counter.channel, 1), kSamplePeriod);
  }
  for (int i = 0; i <= 100; ++i) {
    const double t = 0.1 * i;
    for (std::size_t c = 0; c < counters.size(); ++c) {
      if (t >= counters[c].first_s) {
        const double since = t >= counters[c].reset_s ? counters[c].reset_s : -1000.0;
        const double energy_j = counters[c].watts * (t - since);
        const double raw = energy_j / si_per_raw_unit(counters[c].channel.unit);
        meter.add(c, std::vector{ok_reading(1000.0 + t, static_cast<std::uint64_t>(raw))});
      }
    }
  }
  return meter.finish(at_seconds(1000.0), at_seconds(1010.0));
}

std::vector<std::string> counted_names(const NodeEnergy& energy) {
  std::vector<std::string> names;
  names.reserve(energy.counted.size());
  for (const CountedChannel& channel : energy.counted) {
    names.push_back(channel.name);
  }
  return names;
}

TEST(NodeMeter, TwoSourcesOfOneSiliconCountOnceAndPowercapIsPreferred) {
  const std::vector<SteadyCounter> powercap = {{counter_of("powercap", "package-0"), 100.0},
                                               {counter_of("powercap", "package-1"), 50.0}};
  std::vector<SteadyCounter> perf = {{counter_of("perf", "package-0"), 101.0},
                                     {counter_of("perf", "package-1"), 51.0}};
  for (SteadyCounter& counter : perf) {
    counter.channel.unit = RawUnit::kJouleOver2To16;
  }
  for (const bool powercap_first : {true, false}) {
    std::vector<SteadyCounter> all = powercap_first ? powercap : perf;
    const auto& others = powercap_first ? perf : powercap;
    all.insert(all.end(), others.begin(), others.end());
    const NodeEnergy energy = steady_run(all);
    EXPECT_THAT(counted_names(energy), ElementsAre("powercap/package-0", "powercap/package-1"));
    EXPECT_NEAR(energy.mean_power->value(), 150.0, 0.1);
    EXPECT_EQ(energy.groups.size(), 2U);
    EXPECT_EQ(energy.sources.size(), 4U);  // both are shown
  }
  EXPECT_NEAR(steady_run(perf).mean_power->value(), 152.0, 0.1);
}

TEST(NodeMeter, PerfCountsWherePowercapGaveNothingCameLateOrLostSome) {
  const SteadyCounter perf = {counter_of("perf", "package-0"), 100.0};
  const Channel powercap = counter_of("powercap", "package-0");
  for (const SteadyCounter& weak : {SteadyCounter{powercap, 0.0},                 // never moved
                                    SteadyCounter{powercap, 100.0, 5.0},          // late
                                    SteadyCounter{powercap, 100.0, 0.0, 5.0}}) {  // reset
    EXPECT_THAT(counted_names(steady_run({weak, perf})), ElementsAre("perf/package-0"));
  }
  // Of two that lost some, powercap again.
  SteadyCounter late = perf;
  late.first_s = 2.0;
  EXPECT_THAT(counted_names(steady_run({SteadyCounter{powercap, 100.0, 5.0}, late})),
              ElementsAre("powercap/package-0"));
}

TEST(NodeMeter, DiesOfOneSourceAndThePackageOfAnotherCountOnce) {
  const NodeEnergy energy =
      steady_run({{counter_of("powercap", "package-0-die-0"), 60.0},
                  {counter_of("powercap", "package-0-die-1"), 40.0},
                  {counter_of("powercap", "package-0-die-0/dram", Domain::kDram), 7.0},
                  {counter_of("perf", "package-0"), 100.0},
                  {counter_of("perf", "package-0/dram", Domain::kDram), 7.0},
                  {counter_of("perf", "package-1"), 30.0}});
  EXPECT_THAT(counted_names(energy),
              UnorderedElementsAre("powercap/package-0-die-0",
                                   "powercap/package-0-die-1",
                                   "powercap/package-0-die-0/dram",
                                   "perf/package-1"));
  EXPECT_NEAR(energy.mean_power->value(), 137.0, 0.1);
}

TEST(NodeMeter, PerfThroughTheSensorMatchesTheClosedForm) {
  const testing::TempDir root;
  testing::FakePerfEvents events;
  testing::add_power_pmu(root.path(), "0,8");
  testing::add_cpu(root.path(), 0, 0);
  testing::add_cpu(root.path(), 8, 1);
  testing::add_power_event(root.path(), "energy-pkg", 2);
  testing::add_power_event(root.path(), "energy-psys", 5);
  FakeClock clock;
  PerfSensor sensor(root.path(), &events, clock);
  ASSERT_TRUE(sensor.open().ok());
  NodeMeter meter;
  meter.add_sensor(sensor.channels(), kSamplePeriod);
  const Nanoseconds begin = clock.monotonic_now();
  std::vector<RawReading> readings(sensor.channels().size());
  const auto package_j = [](double t) { return 60.0 * t + 2.0 * t * t; };
  for (int i = 0; i <= 600; ++i) {
    const double t = to_seconds(clock.monotonic_now() - begin).value();
    events.set_joules(2, 0, package_j(t));
    events.set_joules(2, 8, 90.0 * t);
    events.set_joules(5, 0, 900.0 * t);
    sensor.read(readings);
    meter.add(0, readings);
    clock.advance(kSamplePeriod);
  }
  const NodeEnergy energy = meter.finish(begin, begin + at_seconds(60.0));
  const GroupEnergy* first = find_group(energy, "package-0");
  ASSERT_NE(first, nullptr);
  EXPECT_NEAR(first->energy.energy.value(), package_j(60.0), first->energy.uncertainty->value());
  EXPECT_LT(first->energy.uncertainty->value(),
            300.0 * 0.25);  // a quarter of a second of its power
  EXPECT_NEAR(find_group(energy, "package-1")->energy.energy.value(), 5400.0, 5.4);
  EXPECT_FALSE(find_group(energy, "psys")->counted);
  EXPECT_NEAR(energy.mean_power->value(), (package_j(60.0) + 5400.0) / 60.0, 0.3);
}

TEST(NodeMeter, PerfTakenOverByAnotherProcessIsAResetNotALoss) {
  NodeMeter meter;
  Channel channel = counter_of("perf", "package-0");
  channel.unit = RawUnit::kJouleOver2To16;
  channel.plausible_power = Watts(2000.0);
  meter.add_sensor(std::span(&channel, 1), kSamplePeriod);
  meter.add_sensor(std::span(&channel, 1), kSamplePeriod);
  for (int i = 0; i <= 100; ++i) {
    const bool second = i > 60;  // counts from its own opening
    const double energy_j = 100.0 * 0.1 * (second ? i - 61 : i);
    meter.add(
        second ? 1 : 0,
        std::vector{ok_reading(1000.0 + 0.1 * i, static_cast<std::uint64_t>(energy_j * 0x1p16))});
  }
  const NodeEnergy energy = meter.finish(at_seconds(1000.0), at_seconds(1010.0));
  ASSERT_EQ(energy.groups.size(), 1U);
  const ComponentEnergy& cpu = energy.groups[0].energy;
  EXPECT_NEAR(cpu.energy.value(), 1000.0, cpu.uncertainty->value());
  EXPECT_LT(cpu.uncertainty->value(), 150.0);  // 0.1 s of the highest power
  EXPECT_THAT(energy.flags, Contains("counter_reset"));
}

TEST(NodeMeter, MetricsChangeNoEnergyNorSourceNorFlag) {
  const std::vector<Channel> gpu = {gpu_energy_channel(), power_channel()};
  const std::vector<Channel> metrics = {
      testing::metric_channel("nvml/GPU-1/power_limit", RawUnit::kMilliwatt),
      testing::metric_channel("load/node/cpu_time", RawUnit::kMicrosecond, Behavior::kCounter)};
  NodeMeter without;
  NodeMeter with(NodeMeter::Keep::kTotals);
  without.add_sensor(gpu, kSamplePeriod);
  with.add_sensor(metrics, std::chrono::seconds(1));
  with.add_sensor(gpu, kSamplePeriod);
  with.keep_begin(at_seconds(1000.5));
  for (int i = 0; i <= 300; ++i) {
    const double t = 1000.0 + 0.1 * i;
    const auto ticks = static_cast<std::uint64_t>(i);
    const std::vector row = {ok_reading(t, ticks * 30'000), ok_reading(t, 300'000)};
    without.add(0, row);
    with.add(1, row);
    if (i % 100 == 0) {  // far apart: nothing to flag in a metric
      with.add(0, std::vector{ok_reading(t, 700'000), ok_reading(t, ticks * 200'000)});
    }
  }
  with.add(0, std::vector{no_reading(1030.1, ReadStatus::kGone), no_reading(1030.1)});
  with.add_missed(0, 5);
  const NodeEnergy expected = without.finish(at_seconds(1000.5), at_seconds(1029.5));
  const NodeEnergy found = with.finish(at_seconds(1000.5), at_seconds(1029.5));
  ASSERT_EQ(found.groups.size(), 1U);
  EXPECT_EQ(found.groups[0].energy.energy, expected.groups[0].energy.energy);
  EXPECT_EQ(found.groups[0].energy.integrated, expected.groups[0].energy.integrated);
  EXPECT_EQ(found.mean_power, expected.mean_power);
  EXPECT_EQ(found.sources.size(), expected.sources.size());
  EXPECT_TRUE(found.flags.empty()) << found.flags[0];
  ASSERT_EQ(found.metrics.size(), 2U);
  EXPECT_EQ(found.metrics[0].name, "load/node/cpu_time");
  EXPECT_NEAR(*found.metrics[0].mean_rate, 2.0, 1e-9);
  EXPECT_EQ(found.metrics[1].unit, "W");
  EXPECT_EQ(found.metrics[1].maximum, 700.0);
}

TEST(NodeMeter, PowerTakesThePlaceOfACounterThatCameLate) {
  NodeMeter meter;
  Channel counter = gpu_energy_channel();
  counter.update_period.reset();
  const std::vector<Channel> channels = {counter, power_channel()};
  meter.add_sensor(channels, kSamplePeriod);
  for (std::uint64_t i = 0; i <= 20; ++i) {  // about 300 W
    const double t = 1000.0 + 0.1 * static_cast<double>(i);
    const auto value = ok_reading(t, 30'000 * i);
    meter.add(
        0,
        std::vector{i < 15 ? no_reading(t) : value, ok_reading(t, i % 2 == 0 ? 300'000 : 300'100)});
  }
  const NodeEnergy energy = meter.finish(at_seconds(1000.0), at_seconds(1002.0));
  ASSERT_EQ(energy.groups.size(), 1U);
  EXPECT_EQ(energy.groups[0].energy.provenance, Provenance::kIntegrated);
  EXPECT_NEAR(energy.groups[0].energy.energy.value(), 600.0, 20.0);
}

TEST(NodeMeter, AnEstimateStaysWithinItsModel) {
  NodeMeter meter;
  std::vector<Channel> channels = {estimate(Domain::kCpu)};
  channels[0].update_period.reset();
  channels[0].plausible_power = Watts(32.0);
  meter.add_sensor(channels, kSamplePeriod);
  // 3 ms, into which a whole tick of 10 ms fell.
  meter.add(0, std::vector{ok_reading(1000.0, 1'000'000)});
  meter.add(0, std::vector{ok_reading(1000.003, 1'320'000)});
  const NodeEnergy energy = meter.finish(at_seconds(1000.0), at_seconds(1000.003));
  ASSERT_EQ(energy.groups.size(), 1U);
  EXPECT_LE(energy.groups[0].energy.energy.value(), 32.0 * 0.003 + 1e-9);
  EXPECT_GT(energy.groups[0].energy.energy.value(), 0.0);
  EXPECT_THAT(energy.flags, Not(Contains("counter_reset")));
}

TEST(NodeMeter, TroubleBecomesFlags) {
  NodeMeter meter;
  const std::vector<Channel> channels = {gpu_energy_channel()};
  meter.add_sensor(channels, kSamplePeriod);
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
