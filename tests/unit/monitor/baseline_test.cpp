// SPDX-License-Identifier: Apache-2.0
// The idle baseline of a node and of a run: powers, sums, and what is said where there are none.
#include "joulescale/monitor/baseline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "joulescale/monitor/merge.h"

namespace joulescale {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Nanoseconds kSecond = std::chrono::seconds(1);

GroupEnergy group_of(const std::string& group,
                     const std::string& component,
                     double energy_j,
                     double uncertainty_j = 0.0) {
  GroupEnergy entry;
  entry.group = group;
  entry.component = component;
  entry.counted = component != "platform";
  entry.energy.energy = Joules(energy_j);
  entry.energy.uncertainty = Joules(uncertainty_j);
  entry.energy.instrument_accuracy = "unknown";
  return entry;
}

GroupEnergy estimate_of(const std::string& component, double energy_j) {
  GroupEnergy entry = group_of("estimate/" + component, component, energy_j);
  entry.energy.provenance = Provenance::kEstimated;
  entry.energy.uncertainty.reset();
  return entry;
}

RankRecordFile rank_of(std::optional<int> baseline_s, std::optional<int> began_s) {
  RankRecordFile rank;
  if (baseline_s) {
    rank.baseline_began = *baseline_s * kSecond;
  }
  if (began_s) {
    rank.began = *began_s * kSecond;
  }
  return rank;
}

/// A node that took `idle` in a baseline of 10 s and `run` in a run of `run_s`.
NodeReport node_of(const std::string& host,
                   double run_s,
                   std::vector<GroupEnergy> run,
                   std::vector<GroupEnergy> idle,
                   double busy_share = 0.01) {
  NodeReport report;
  report.identity = host;
  report.part.nodes.push_back({host, {}, {}, {}});
  report.part.duration = Seconds(run_s);
  report.groups = std::move(run);
  NodeEnergy energy;
  energy.groups = std::move(idle);
  std::vector ranks = {rank_of(5, 15)};
  ranks[0].baseline_cpu_busy = busy_share;
  add_node_baseline(*baseline_window(ranks), &energy, ranks, report);
  return report;
}

NodeReport node_without_baseline(const std::string& host) {
  NodeReport report = node_of(host, 20.0, {group_of("package-0", "cpu", 600.0)}, {});
  report.part.baseline.reset();
  return report;
}

TEST(BaselineWindow, EndsWithTheFirstCommandOfTheNode) {
  EXPECT_FALSE(baseline_window(std::vector{rank_of({}, 3)}));
  EXPECT_FALSE(baseline_window(std::vector{rank_of(3, {})})) << "killed before the command";
  const auto window = baseline_window(std::vector{rank_of(4, 14), rank_of(3, 13), rank_of(5, {})});
  ASSERT_TRUE(window);
  EXPECT_EQ(window->begin, 3 * kSecond);
  EXPECT_EQ(window->end, 13 * kSecond);
  EXPECT_TRUE(is_usable(*window));
  EXPECT_FALSE(is_usable(*baseline_window(std::vector{rank_of(4, 14), rank_of({}, 2)})));
}

TEST(Baseline, StandsBesideTheTotalWithItsUncertainty) {
  const NodeReport node =
      node_of("a",
              20.0,
              {group_of("package-0", "cpu", 2000.0, 3.0), group_of("psys", "platform", 9000.0)},
              {group_of("package-0", "cpu", 300.0, 1.0), group_of("psys", "platform", 1000.0)});
  const RunRecord run = merge_run({}, std::vector{node});
  EXPECT_DOUBLE_EQ(run.energy.total->value(), 2000.0) << "nothing is subtracted";
  ASSERT_TRUE(run.baseline);
  const BaselineRecord& baseline = *run.baseline;
  EXPECT_DOUBLE_EQ(baseline.duration->value(), 10.0);
  EXPECT_DOUBLE_EQ(baseline.power->value(), 30.0);
  EXPECT_DOUBLE_EQ(baseline.power_uncertainty->value(), 0.1);
  EXPECT_DOUBLE_EQ(baseline.energy->value(), 600.0);
  EXPECT_DOUBLE_EQ(baseline.energy_uncertainty->value(), 2.0);
  EXPECT_DOUBLE_EQ(baseline.above->value(), 1400.0);
  EXPECT_DOUBLE_EQ(baseline.above_uncertainty->value(), 5.0);
  EXPECT_DOUBLE_EQ(baseline.components.at("platform").power.value(), 100.0);
  EXPECT_DOUBLE_EQ(*baseline.cpu_busy_share, 0.01);
  EXPECT_FALSE(baseline.estimated_power);
  EXPECT_THAT(baseline.notes, IsEmpty());
}

TEST(Baseline, UncertaintiesOfLikeSourcesOfANodeAddUp) {
  const NodeReport node = node_of("a",
                                  20.0,
                                  {group_of("package-0", "cpu", 1000.0, 0.0),
                                   group_of("package-1", "cpu", 1000.0, 0.0),
                                   group_of("GPU-1", "gpu", 4000.0, 0.0)},
                                  {group_of("package-0", "cpu", 300.0, 1.0),
                                   group_of("package-1", "cpu", 300.0, 2.0),
                                   group_of("GPU-1", "gpu", 700.0, 4.0)});
  const RunRecord run = merge_run({}, std::vector{node});
  const BaselineRecord& baseline = *run.baseline;
  EXPECT_NEAR(baseline.components.at("cpu").uncertainty->value(), 0.3, 1e-9);
  EXPECT_NEAR(baseline.power_uncertainty->value(), 0.5, 1e-9) << "0.3 and 0.4 of two kinds";
}

TEST(Baseline, NodesAddUpEachForItsOwnTime) {
  const NodeReport a =
      node_of("a",
              20.0,
              {group_of("package-0", "cpu", 1000.0, 0.0), group_of("GPU-1", "gpu", 4000.0, 0.0)},
              {group_of("package-0", "cpu", 300.0, 3.0), group_of("GPU-1", "gpu", 700.0, 0.0)});
  const NodeReport b =
      node_of("b",
              10.0,
              {group_of("package-0", "cpu", 1000.0, 0.0),
               group_of("GPU-1", "gpu", 3000.0, 0.0)},  // the same one
              {group_of("package-0", "cpu", 400.0, 4.0), group_of("GPU-1", "gpu", 650.0, 0.0)},
              0.3);
  const RunRecord run = merge_run({}, std::vector{a, b});
  const BaselineRecord& baseline = *run.baseline;
  EXPECT_DOUBLE_EQ(baseline.components.at("cpu").power.value(), 70.0);
  EXPECT_DOUBLE_EQ(baseline.components.at("cpu").uncertainty->value(), 0.5);
  EXPECT_DOUBLE_EQ(baseline.components.at("gpu").power.value(), 70.0) << "counted once";
  EXPECT_DOUBLE_EQ(baseline.power->value(), 140.0);
  EXPECT_DOUBLE_EQ(baseline.energy->value(), 30.0 * 20.0 + 70.0 * 20.0 + 40.0 * 10.0);
  EXPECT_DOUBLE_EQ(baseline.above->value(), 6000.0 - 2400.0);
  EXPECT_DOUBLE_EQ(*baseline.cpu_busy_share, 0.3);
  EXPECT_THAT(
      baseline.notes,
      ElementsAre("b: not idle: the CPUs were busy for 30 % of the baseline (at most 10 %)"));
}

TEST(Baseline, OfSomeNodesOnlyGivesNoSum) {
  const NodeReport a = node_of(
      "a", 20.0, {group_of("package-0", "cpu", 1000.0)}, {group_of("package-0", "cpu", 300.0)});
  const RunRecord run = merge_run({}, std::vector{a, node_without_baseline("b")});
  EXPECT_FALSE(run.baseline->power);
  EXPECT_FALSE(run.baseline->above);
  EXPECT_THAT(run.baseline->components, IsEmpty());
  EXPECT_THAT(run.baseline->notes, ElementsAre("only 1 of 2 nodes have a baseline: no sum"));
  EXPECT_FALSE(merge_run({}, std::vector{node_without_baseline("b")}).baseline);
}

TEST(Baseline, ASourceWithoutAValueLeavesNoSum) {
  const NodeReport node =
      node_of("a",
              20.0,
              {group_of("package-0", "cpu", 1000.0), group_of("GPU-1", "gpu", 1000.0)},
              {group_of("package-0", "cpu", 300.0)});
  const RunRecord run = merge_run({}, std::vector{node});
  EXPECT_DOUBLE_EQ(run.baseline->components.at("cpu").power.value(), 30.0);
  EXPECT_FALSE(run.baseline->components.contains("gpu"));
  EXPECT_FALSE(run.baseline->power);
  EXPECT_FALSE(run.baseline->energy);
  EXPECT_FALSE(run.baseline->above);
  EXPECT_THAT(run.baseline->notes,
              ElementsAre("some sources have no value in the baseline: no sum"));
}

TEST(Baseline, EstimatesStandApart) {
  const NodeReport node =
      node_of("a",
              20.0,
              {group_of("package-0", "cpu", 1000.0), estimate_of("dram", 200.0)},
              {group_of("package-0", "cpu", 300.0), estimate_of("dram", 100.0)});
  const BaselineRecord baseline = *merge_run({}, std::vector{node}).baseline;
  EXPECT_DOUBLE_EQ(baseline.power->value(), 30.0);
  EXPECT_DOUBLE_EQ(baseline.above->value(), 1000.0 - 600.0);
  EXPECT_DOUBLE_EQ(baseline.estimated_power->value(), 10.0);
  EXPECT_DOUBLE_EQ(baseline.estimated->value(), 200.0);
  EXPECT_EQ(baseline.components.at("dram").provenance, Provenance::kEstimated);
  EXPECT_FALSE(baseline.components.at("dram").uncertainty);
}

TEST(Baseline, MorePowerThanInTheRunIsSaid) {
  const NodeReport node = node_of("a",
                                  20.0,
                                  {group_of("GPU-1", "gpu", 1000.0, 10.0)},
                                  {group_of("GPU-1", "gpu", 3000.0, 10.0)});
  const BaselineRecord baseline = *merge_run({}, std::vector{node}).baseline;
  EXPECT_DOUBLE_EQ(baseline.above->value(), -5000.0);
  ASSERT_EQ(baseline.notes.size(), 1U);
  EXPECT_THAT(baseline.notes[0],
              HasSubstr("GPU-1 took 300 W in the baseline, more than in the run (50 W)"));
  const NodeReport within_doubt = node_of(
      "a", 20.0, {group_of("GPU-1", "gpu", 1000.0, 10.0)}, {group_of("GPU-1", "gpu", 509.0, 10.0)});
  EXPECT_THAT(within_doubt.part.baseline->notes, IsEmpty());
}

TEST(Baseline, WithoutAValueSaysWhy) {
  NodeReport report;
  const std::vector ranks = {rank_of(5, 15), rank_of({}, 5)};
  add_node_baseline(*baseline_window(ranks), nullptr, ranks, report);
  EXPECT_THAT(report.part.baseline->notes,
              ElementsAre("another rank's command was started in the baseline: no value"));
  const std::vector alone = {rank_of(5, 15)};
  add_node_baseline(*baseline_window(alone), nullptr, alone, report);
  EXPECT_THAT(report.part.baseline->notes, ElementsAre("the journal is incomplete: no value"));
  EXPECT_FALSE(report.part.baseline->duration);
}

TEST(Baseline, TravelsInNodeAndRankRecords) {
  NodeReport node = node_of("a",
                            20.0,
                            {group_of("package-0", "cpu", 1000.0), estimate_of("dram", 200.0)},
                            {group_of("package-0", "cpu", 300.0, 1.0), estimate_of("dram", 100.0)});
  node.part.id = "x";
  node.part.started_at = "2026-01-01T00:00:00.000Z";
  const std::string text = format_node_report(node);
  const auto parsed = parse_node_report(text);
  ASSERT_TRUE(parsed.ok()) << parsed.error().text();
  EXPECT_EQ(format_node_report(*parsed), text);
  EXPECT_EQ(parsed->groups[0].idle->uncertainty, Watts(0.1));
  EXPECT_EQ(parsed->groups[1].idle->provenance, Provenance::kEstimated);
  std::string damaged = text;
  damaged.replace(damaged.find("\"power_w\""), 9, "\"power_v\"");
  EXPECT_FALSE(parse_node_report(damaged).ok());

  RankRecordFile rank = rank_of(5, 15);
  rank.baseline_cpu_busy = 0.25;
  rank.node_directory = "n";
  rank.facts = node;
  const auto read = parse_rank_record(format_rank_record(rank));
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(read->baseline_began, 5 * kSecond);
  EXPECT_EQ(read->baseline_cpu_busy, 0.25);
}

}  // namespace
}  // namespace joulescale
