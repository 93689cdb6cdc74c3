// SPDX-License-Identifier: Apache-2.0
// RAPL zones that move, wrap, rest, vanish and start anew while a run goes on.
#include <chrono>
#include <cmath>
#include <list>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/monitor/live_counters.h"
#include "tests/integration/monitor/scenario_run.h"

namespace joulescale::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

constexpr std::chrono::milliseconds kMovesEvery{2};
constexpr std::uint64_t kSmallRangeUj = 300'000'000;

std::uint64_t uj(double joules) { return static_cast<std::uint64_t>(joules * 1e6); }

/// Two sockets: ranges of each zone's own, one not readable, one of 64 bits.
struct TwoSockets : PowercapTree {
  TwoSockets() {
    add_zone("intel-rapl:0", "package-0", 0, kSmallRangeUj);
    add_zone("intel-rapl:0:0", "core", 0, kSmallRangeUj / 2);
    add_zone("intel-rapl:0:1", "dram", 0, 65'712'999'613);
    add_zone("intel-rapl:1", "package-1", 0);
    add_zone("intel-rapl:1:0", "dram", kStartOf64Bits, ~std::uint64_t{0});
    add_zone("intel-rapl:2", "psys", 0);
    add_zone("intel-rapl-mmio:0", "package-0", 0, kSmallRangeUj);
    // A round takes 0.3 s at the highest plausible power: no gap of a busy test machine makes the
    // number of wraps doubtful.
    for (const char* zone : {"intel-rapl:0", "intel-rapl:0:0", "intel-rapl-mmio:0"}) {
      set_text(zone, "constraint_0_max_power_uw", "300000000\n");
    }
    make_unreadable("intel-rapl:1", "max_energy_range_uj");
  }
  static constexpr std::uint64_t kStartOf64Bits = std::uint64_t{1} << 63;
};

double package_0_j(double t) { return 200.0 * t + 25.0 * (1.0 - std::cos(4.0 * t)); }
double package_1_j(double t) { return 80.0 * t + 30.0 * t * t; }

TEST(MonitorPowercap, EveryZoneCountsByItsOwnRangeAndOnce) {
  TwoSockets tree;
  LiveCounters live(
      tree,
      {{"intel-rapl:0", [](double t) { return uj(package_0_j(t)) % kSmallRangeUj; }},
       {"intel-rapl-mmio:0", [](double t) { return uj(package_0_j(t)) % kSmallRangeUj; }},
       {"intel-rapl:0:0", [](double t) { return uj(0.5 * package_0_j(t)) % (kSmallRangeUj / 2); }},
       {"intel-rapl:0:1", [](double t) { return uj(20.0 * t); }},
       {"intel-rapl:1", [](double t) { return uj(1e6 + package_1_j(t)); }},
       {"intel-rapl:1:0", [](double t) { return TwoSockets::kStartOf64Bits + uj(30.0 * t); }},
       {"intel-rapl:2", [](double t) { return uj(500.0 * t); }}},
      kMovesEvery);
  ScenarioRun run({"", 4.0, {}, {}, tree.root()});
  ASSERT_NO_FATAL_FAILURE(run.finish());
  const double begin = live.seconds_at(run.times().begin);
  const double end = live.seconds_at(run.times().end);
  const EnergyRecord& energy = run.record().energy;
  const double late_j = live.seconds_late() * 700.0;
  const double packages_j =
      package_0_j(end) - package_0_j(begin) + package_1_j(end) - package_1_j(begin);
  expect_energy(energy.components.at("cpu"), packages_j, late_j);
  expect_energy(energy.components.at("dram"), 50.0 * (end - begin), late_j);
  expect_energy(
      energy.components.at("cpu_core"), 0.5 * (package_0_j(end) - package_0_j(begin)), late_j);
  expect_energy(energy.components.at("platform"), 500.0 * (end - begin), late_j);
  EXPECT_THAT(energy.total_includes, ElementsAre("cpu", "dram"));
  EXPECT_THAT(energy.components.at("platform").overlaps, ElementsAre("cpu", "dram"));
  // One more where a wrap lies between the base reading and the begin, or the end and the last
  // tick.
  const double wraps =
      std::floor(package_0_j(end) / 300.0) - std::floor(package_0_j(begin) / 300.0);
  EXPECT_NEAR(static_cast<double>(run.source("powercap/package-0")->wraps), wraps, 1.0);
  EXPECT_GE(run.source("powercap/package-0")->wraps, 2U);
  EXPECT_EQ(run.source("powercap/package-1")->wraps, 0U);
  if (late_j == 0.0) {  // a fake that stood still and then jumped looks like a counter's new start
    EXPECT_EQ(run.source("powercap/package-1")->resets, 0U);
    EXPECT_THAT(run.flags_but_lateness(), IsEmpty());
  }
}

TEST(MonitorPowercap, DiesAreAddedAndTheirMirrorsAreNot) {
  PowercapTree tree;
  tree.add_zone("intel-rapl:0", "package-0-die-0", 0);
  tree.add_zone("intel-rapl:1", "package-0-die-1", 0);
  tree.add_zone("intel-rapl:2", "package-1-die-0", 0);
  tree.add_zone("intel-rapl:3", "package-1-die-1", 0);
  tree.make_mirror("intel-rapl:3", "intel-rapl:2");
  LiveCounters live(tree,
                    {{"intel-rapl:0", [](double t) { return uj(50.0 + 100.0 * t); }},
                     {"intel-rapl:1", [](double t) { return uj(900.0 + 60.0 * t); }},
                     {"intel-rapl:2", [](double t) { return uj(40.0 * t); }}},
                    kMovesEvery);
  ScenarioRun run({"", 1.5, {}, {}, tree.root()});
  ASSERT_NO_FATAL_FAILURE(run.finish());
  expect_energy(
      run.record().energy.components.at("cpu"), 200.0 * run.seconds(), live.seconds_late() * 240.0);
}

struct ZoneFault {
  std::string name;
  LiveCounters::Counter counter;  // of 100 W
  std::vector<std::string> flags;
  std::uint64_t range_uj = PowercapTree::kUsualRangeUj;
  double widest_uncertainty = 0.65;  // as a share of the energy
};

std::optional<std::uint64_t> unless(bool unreadable, double joules) {
  return unreadable ? std::nullopt : std::optional(uj(joules));
}

/// The command runs from before 1 s to after 4 s of the counters' time.
std::vector<ZoneFault> zone_faults() {
  return {
      {"not readable for a moment",
       [](double t) { return unless(t > 2.0 && t < 2.6, 100.0 * t); },
       {}},
      {"not readable for long",
       [](double t) { return unless(t > 2.0 && t < 3.6, 100.0 * t); },
       {"gap"}},
      {"vanishes",
       [](double t) { return unless(t > 2.5, 100.0 * t); },
       {"gap"},
       PowercapTree::kUsualRangeUj,
       3.0},  // 1.7 s of up to 625 W
      {"starts anew",
       [](double t) { return uj(t < 2.5 ? 1000.0 + 100.0 * t : 100.0 * (t - 2.5)); },
       {"counter_reset"}},
      {"goes round while it is not readable",
       [](double t) -> std::optional<std::uint64_t> {
         return t > 2.0 && t < 3.6 ? std::nullopt : std::optional(uj(100.0 * t) % kSmallRangeUj);
       },
       {"gap", "wrap_ambiguous"},
       kSmallRangeUj,
       2.0},  // the doubt of a round, and of another where a late reading leaves a second gap
  };
}

struct ZoneRun {
  explicit ZoneRun(const ZoneFault& fault) {
    tree.add_zone("intel-rapl:0", "package-0", 0, fault.range_uj);
    tree.set_text("intel-rapl:0", "constraint_0_max_power_uw", "120000000\n");
    live.emplace(tree,
                 std::map<std::string, LiveCounters::Counter>{{"intel-rapl:0", fault.counter}},
                 kMovesEvery);
    run.emplace(ScenarioOptions{"", 4.2, {}, {}, tree.root()});
  }
  PowercapTree tree;
  std::optional<LiveCounters> live;
  std::optional<ScenarioRun> run;
};

TEST(MonitorPowercap, EachFaultIsFlaggedAndNoneSpoilsTheEnergy) {
  const std::vector<ZoneFault> faults = zone_faults();
  std::list<ZoneRun> runs;
  for (const ZoneFault& fault : faults) {
    runs.emplace_back(fault);
  }
  std::size_t i = 0;
  for (ZoneRun& zone : runs) {
    const ZoneFault& fault = faults[i++];
    SCOPED_TRACE(fault.name);
    ScenarioRun& run = *zone.run;
    ASSERT_NO_FATAL_FAILURE(run.finish());
    const double late_j = zone.live->seconds_late() * 100.0;
    const ComponentEnergy& cpu = run.record().energy.components.at("cpu");
    const double truth_j = 100.0 * run.seconds();
    EXPECT_NEAR(
        cpu.energy.value(), truth_j, std::max(1e-3 * truth_j, cpu.uncertainty->value()) + late_j);
    EXPECT_LT(cpu.uncertainty->value(), fault.widest_uncertainty * truth_j + late_j);
    if (late_j == 0.0) {
      EXPECT_THAT(run.flags_but_lateness(), ElementsAreArray(fault.flags));
    }
  }
}

}  // namespace
}  // namespace joulescale::testing
