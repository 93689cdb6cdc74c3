// SPDX-License-Identifier: Apache-2.0
// Sums that must hold whatever the marks and the nodes are: nothing is negative, the regions of a
// node do not exceed its energy, the parts make up the total.
#include <array>
#include <chrono>
#include <cmath>
#include <list>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "joulescale/monitor/marks/mark_writer.h"
#include "joulescale/monitor/marks_summary.h"
#include "joulescale/monitor/merge.h"

#include "tests/support/fake_clock.h"
#include "tests/support/random_power.h"
#include "tests/support/temp_dir.h"

namespace joulescale {
namespace {

using fake_nvml::PowerShape;
using testing::FakeClock;
using testing::Random;
using testing::random_shape;
using testing::TempDir;

/// A node with random power.
class RandomTimeline final : public EnergyTimeline {
 public:
  RandomTimeline(Random& random, Nanoseconds begin)
      : begin_(begin),
        measured_(random_shape(random, 500.0)),
        estimated_(random_shape(random, 50.0)),
        resolution_(static_cast<std::int64_t>(1e9 * random.log_uniform(1e-3, 1.0))) {}

  NodeJoules at(Nanoseconds time) override {
    now_ = std::max(now_, time);
    const double time_s = to_seconds(now_ - begin_).value();
    return {Joules(measured_.energy_at(time_s)), Joules(estimated_.energy_at(time_s))};
  }
  bool has_measured() const override { return true; }
  bool has_estimated() const override { return true; }
  Nanoseconds resolution() const override { return resolution_; }

 private:
  Nanoseconds begin_;
  Nanoseconds now_{0};
  PowerShape measured_;
  PowerShape estimated_;
  Nanoseconds resolution_;
};

Nanoseconds nanoseconds(double seconds) {
  return Nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
}

/// One writer's marks, one region after the other; some begin before the run or end after it.
void write_marks(Random& random, const TempDir& directory, int number, int world_size) {
  FakeClock clock;
  clock.advance(Nanoseconds(number + 1));  // file names hold the time
  MarkWriter marks = MarkWriter::create(directory.path(), clock).value();
  if (world_size > 0) {
    marks.register_rank(number, world_size, "cpu_rank", "");
  }
  clock.advance(nanoseconds(random.uniform(0.0, 3.0)));
  const int visits = random.integer(0, 60);
  for (int i = 0; i < visits; ++i) {
    const RegionId region = marks.region(fmt::format("region-{}", random.integer(0, 3)));
    marks.begin(region);
    clock.advance(nanoseconds(random.log_uniform(1e-4, 1.0)));
    if (i + 1 < visits || random.integer(0, 1) == 1) {  // the last one may never be left
      marks.end(region);
    }
    clock.advance(nanoseconds(random.integer(0, 1) == 0 ? 0.0 : random.log_uniform(1e-4, 0.3)));
  }
  marks.add(MarkCounter::kUpdates, 1);
}

TEST(RegionSums, NeverExceedTheNodeAndAreNeverNegative) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    const TempDir directory;
    const int writers = random.integer(1, 4);
    const bool ranks = random.integer(0, 1) == 1;
    for (int number = 0; number < writers; ++number) {
      write_marks(random, directory, number, ranks ? writers : 0);
    }
    const Nanoseconds begin = FakeClock().monotonic_now() + nanoseconds(random.uniform(0.0, 4.0));
    const Nanoseconds end = begin + nanoseconds(random.uniform(0.1, 30.0));
    RandomTimeline timeline(random, begin);
    const MarksSummary summary = summarise_marks(directory.path(), &timeline, begin, end);
    const NodeJoules total = timeline.at(end);
    Joules measured;
    Joules estimated;
    for (const RegionRecord& region : summary.regions) {
      EXPECT_GE(region.energy->value(), 0.0);
      EXPECT_GE(region.estimated->value(), 0.0);
      EXPECT_GE(region.uncertainty->value(), 0.0);
      EXPECT_LE(*region.uncertainty, *region.energy);
      EXPECT_GE(region.duration.value(), 0.0);
      measured += *region.energy;
      estimated += *region.estimated;
    }
    EXPECT_LE(measured.value(), total.measured.value() * (1.0 + 1e-9) + 1e-9);
    EXPECT_LE(estimated.value(), total.estimated.value() * (1.0 + 1e-9) + 1e-9);
  }
}

TEST(RegionSums, ProcessesThatFollowEachOtherDoNotShare) {
  const TempDir directory;
  FakeClock clock;
  const Nanoseconds begin = clock.monotonic_now();
  for (int process = 0; process < 3; ++process) {
    clock.advance(std::chrono::seconds(1));
    MarkWriter marks = MarkWriter::create(directory.path(), clock).value();
    const RegionId step = marks.region("step");
    marks.begin(step);
    clock.advance(std::chrono::seconds(2));
    marks.end(step);
  }
  Random random(1);
  RandomTimeline timeline(random, begin);
  RandomTimeline same = timeline;
  double expected_j = 0.0;
  for (int process = 0; process < 3; ++process) {
    const Nanoseconds at = begin + std::chrono::seconds(3 * process + 1);
    expected_j -= same.at(at).measured.value();
    expected_j += same.at(at + std::chrono::seconds(2)).measured.value();
  }
  const MarksSummary summary =
      summarise_marks(directory.path(), &timeline, begin, begin + std::chrono::seconds(20));
  EXPECT_NEAR(summary.regions.at(0).energy->value(), expected_j, 1e-6 * expected_j);
}

NodeReport random_node(Random& random, int number) {
  NodeReport node;
  node.identity = fmt::format("node-{}", number);
  node.part.nodes.push_back({node.identity, {}, {}, {}});
  node.part.duration = Seconds(random.uniform(0.1, 100.0));
  const int groups = random.integer(0, 12);
  for (int i = 0; i < groups; ++i) {
    GroupEnergy& group = node.groups.emplace_back();
    constexpr std::array kComponents = {"cpu", "dram", "gpu", "platform"};
    group.component = kComponents.at(static_cast<std::size_t>(random.integer(0, 3)));
    group.group = fmt::format("{}-{}-{}", group.component, number, i);
    group.counted = group.component != "platform";
    group.energy.energy = Joules(random.log_uniform(1e-3, 1e6));
    group.energy.provenance = static_cast<Provenance>(random.integer(0, 2));
    if (group.energy.provenance != Provenance::kEstimated) {
      group.energy.uncertainty = group.energy.energy * random.uniform(0.0, 1.0);
    }
    if (random.integer(0, 1) == 1) {
      group.energy.integrated = group.energy.energy * random.uniform(0.5, 1.5);
    }
  }
  return node;
}

TEST(RunSums, PartsMakeUpTheTotal) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    std::vector<NodeReport> nodes;
    const int num_nodes = random.integer(1, 5);
    nodes.reserve(static_cast<std::size_t>(num_nodes));
    for (int i = 0; i < num_nodes; ++i) {
      nodes.push_back(random_node(random, i));
    }
    const RunRecord run = merge_run({}, nodes);
    double measured_j = 0.0;
    double estimated_j = 0.0;
    double variance_j2 = 0.0;
    for (const NodeReport& node : nodes) {
      std::map<std::string, double> uncertainty_j;  // of a component's channels, which add up
      for (const GroupEnergy& group : node.groups) {
        if (!group.counted) {
          continue;
        }
        const bool estimate = group.energy.provenance == Provenance::kEstimated;
        (estimate ? estimated_j : measured_j) += group.energy.energy.value();
        uncertainty_j[group.component] += group.energy.uncertainty.value_or(Joules(0.0)).value();
      }
      for (const auto& [component, sum_j] : uncertainty_j) {
        variance_j2 += sum_j * sum_j;
      }
    }
    EXPECT_NEAR(run.energy.total.value_or(Joules(0.0)).value(), measured_j, 1e-9 * measured_j);
    EXPECT_NEAR(
        run.energy.estimated.value_or(Joules(0.0)).value(), estimated_j, 1e-9 * estimated_j);
    EXPECT_NEAR(run.energy.total_uncertainty.value_or(Joules(0.0)).value(),
                std::sqrt(variance_j2),
                1e-9 * measured_j);
    double nodes_j = 0.0;
    for (const NodeRecord& node : run.nodes) {
      nodes_j += node.energy.value_or(Joules(0.0)).value();
    }
    EXPECT_NEAR(nodes_j, measured_j, 1e-9 * measured_j);
    double components_j = 0.0;
    for (const auto& [name, component] : run.energy.components) {
      EXPECT_GE(component.energy.value(), 0.0);
      components_j += name == "platform" ? 0.0 : component.energy.value();
    }
    EXPECT_NEAR(components_j, measured_j + estimated_j, 1e-9 * (measured_j + estimated_j));
  }
}

}  // namespace
}  // namespace joulescale
