// SPDX-License-Identifier: Apache-2.0
// launch.json, node.json, the journal, and their merging into run.json.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "joulescale/base/file.h"
#include "joulescale/monitor/environment.h"
#include "joulescale/monitor/hardware.h"
#include "joulescale/monitor/launch.h"
#include "joulescale/monitor/merge.h"
#include "joulescale/record/run_json.h"

#include "tests/support/temp_dir.h"

namespace joulescale {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TempDir;

GroupEnergy group_of(const std::string& group,
                     const std::string& component,
                     double energy_j,
                     Provenance provenance) {
  GroupEnergy entry;
  entry.group = group;
  entry.component = component;
  entry.counted = component != "platform";
  entry.energy.energy = Joules(energy_j);
  entry.energy.provenance = provenance;
  if (provenance != Provenance::kEstimated) {
    entry.energy.uncertainty = Joules(3.0);
  }
  entry.energy.instrument_accuracy = "unknown";
  return entry;
}

NodeReport report_of(const std::string& identity, int rank, int exit_status) {
  NodeReport report;
  report.identity = identity;
  report.part.id = "x";
  report.part.started_at = "2026-01-01T00:00:00.000Z";
  report.part.launch = {"k", "none", {}};
  report.part.nodes.push_back({identity, {}, {}, {}});
  report.part.duration = Seconds(10.0 + rank);
  report.part.ranks.push_back({rank, identity, exit_status, std::nullopt, Seconds(10.0), {}});
  return report;
}

LaunchInfo launch_of() {
  LaunchInfo launch;
  launch.id = "abc";
  launch.key = "k";
  launch.launcher = "none";
  launch.command = {"train", "--lr", "0.1"};
  launch.started_at = "2026-01-01T00:00:00.000Z";
  launch.version = "1";
  return launch;
}

TEST(MergeRun, AddsNodesAndCountsEachGpuOnce) {
  NodeReport a = report_of("a", 0, 0);
  a.groups = {group_of("package-0", "cpu", 100.0, Provenance::kMeasured),
              group_of("GPU-1", "gpu", 1000.0, Provenance::kMeasured),
              group_of("psys", "platform", 500.0, Provenance::kMeasured),
              group_of("estimate/dram", "dram", 10.0, Provenance::kEstimated)};
  a.gpus = {"GPU-1"};
  NodeReport b = report_of("b", 1, 3);
  b.groups = {group_of("package-0", "cpu", 200.0, Provenance::kMeasured),
              group_of("GPU-1", "gpu", 1000.0, Provenance::kMeasured)};
  b.gpus = {"GPU-1"};
  b.part.flags = {"gap"};
  const RunRecord run = merge_run(launch_of(), std::vector{a, b});
  EXPECT_DOUBLE_EQ(run.energy.total->value(), 1300.0);
  EXPECT_DOUBLE_EQ(run.energy.estimated->value(), 10.0);
  EXPECT_DOUBLE_EQ(run.energy.total_with_estimates->value(), 1310.0);
  EXPECT_NEAR(run.energy.total_uncertainty->value(), 3.0 * std::sqrt(3.0), 1e-9);
  EXPECT_THAT(run.energy.total_includes, ElementsAre("cpu", "gpu"));
  EXPECT_DOUBLE_EQ(run.energy.components.at("cpu").energy.value(), 300.0);
  EXPECT_DOUBLE_EQ(run.energy.components.at("platform").energy.value(), 500.0);
  EXPECT_THAT(run.flags, ElementsAre("duplicate_source", "gap"));
  EXPECT_EQ(run.devices.kind, "gpu");
  EXPECT_EQ(run.devices.count, 1);
  EXPECT_DOUBLE_EQ(run.duration.value(), 11.0);
  EXPECT_NEAR(run.device_hours, 11.0 / 3600.0, 1e-12);
  EXPECT_EQ(run.exit_status, 3);  // the first rank that failed
  EXPECT_DOUBLE_EQ(run.nodes.at(0).energy->value(), 1100.0);
  EXPECT_DOUBLE_EQ(run.nodes.at(1).energy->value(), 200.0);
  EXPECT_NEAR(run.power.mean->value(), 1300.0 / 11.0, 1e-9);
}

TEST(MergeRun, CountsASourceOnceANode) {
  NodeReport a = report_of("boot-1", 0, 0);  // two containers on one node, each elected its sampler
  a.groups = {group_of("package-0", "cpu", 90.0, Provenance::kMeasured)};
  NodeReport b = report_of("boot-1", 1, 0);
  b.groups = {group_of("package-0", "cpu", 100.0, Provenance::kMeasured)};
  b.groups.push_back(group_of("package-0", "cpu_core", 60.0, Provenance::kMeasured));
  b.groups.back().counted = false;
  NodeReport c = report_of("boot-2", 2, 0);
  c.groups = {group_of("package-0", "cpu", 70.0, Provenance::kMeasured)};
  const RunRecord run = merge_run(launch_of(), std::vector{a, b, c});
  EXPECT_DOUBLE_EQ(run.energy.total->value(), 170.0);
  EXPECT_THAT(run.flags, ElementsAre("duplicate_source"));
  EXPECT_DOUBLE_EQ(run.energy.components.at("cpu_core").energy.value(), 60.0);
  const RunRecord swapped = merge_run(launch_of(), std::vector{b, c, a});
  EXPECT_DOUBLE_EQ(swapped.energy.total->value(), 170.0);
}

TEST(MergeRun, TwoContainersOfOneNodeCountItsMetricsOnceAndHaveNoPeak) {
  const auto container = [](int rank, double energy, std::uint64_t samples) {
    NodeReport report = report_of("boot-1", rank, 0);
    report.groups = {group_of("package-0", "cpu", energy, Provenance::kMeasured)};
    report.part.power.peak = Watts(energy / 5.0);
    MetricRecord metric;
    metric.name = "load/node/cpu_time";
    metric.node = "boot-1";
    metric.samples = samples;
    report.part.metrics = {metric};
    metric.name = "load/rank-" + std::to_string(rank) + "/cpu_time";
    report.part.metrics.push_back(metric);
    return report;
  };
  const RunRecord run =
      merge_run(launch_of(), std::vector{container(0, 90.0, 4), container(1, 100.0, 5)});
  EXPECT_FALSE(run.power.peak);
  ASSERT_EQ(run.metrics.size(), 3U);
  EXPECT_EQ(std::ranges::find(run.metrics, "load/node/cpu_time", &MetricRecord::name)->samples, 5U);
  NodeReport other = container(1, 100.0, 5);
  other.identity = "boot-2";
  other.part.metrics.front().node = "boot-2";
  const RunRecord apart = merge_run(launch_of(), std::vector{container(0, 90.0, 4), other});
  EXPECT_DOUBLE_EQ(apart.power.peak->value(), 38.0);
  EXPECT_EQ(apart.metrics.size(), 4U);
  EXPECT_EQ(apart.nodes.at(1).node, "boot-2");
}

TEST(MergeRun, StatusOfAKilledRankIsNotMadeUp) {
  NodeReport lost = report_of("a", 0, 0);
  lost.part.ranks.front().exit_status.reset();
  const NodeReport good = report_of("b", 1, 0);
  const RunRecord unknown = merge_run(launch_of(), std::vector{lost, good});
  EXPECT_FALSE(unknown.exit_status.has_value());
  EXPECT_FALSE(unknown.signal.has_value());
  const RunRecord failed = merge_run(launch_of(), std::vector{lost, report_of("b", 1, 7)});
  EXPECT_EQ(failed.exit_status, 7);
}

TEST(MergeRun, StatusOfALaunchWithARankThatNeverCameIsNotKnown) {
  LaunchInfo launch = launch_of();
  launch.expected_ranks = 3;
  const std::vector came = {report_of("a", 0, 0), report_of("b", 1, 0)};
  EXPECT_FALSE(merge_run(launch, came).exit_status.has_value());
  launch.expected_ranks = 2;
  EXPECT_EQ(merge_run(launch, came).exit_status, 0);
}

TEST(MergeRun, OfRanksThatFailedTheFirstInTimeIsTold) {
  NodeReport ended_by_launcher = report_of("a", 0, 0);
  ended_by_launcher.part.ranks = {{0, "a", {}, 15, Seconds(10.0), "2026-01-01T00:00:10.000200Z"},
                                  {2, "a", 0, {}, Seconds(9.0), "2026-01-01T00:00:09.000000Z"}};
  NodeReport first = report_of("b", 1, 7);
  first.part.ranks.front().ended_at = "2026-01-01T00:00:10.000100Z";
  const RunRecord run = merge_run(launch_of(), std::vector{ended_by_launcher, first});
  EXPECT_EQ(run.exit_status, 7);
  EXPECT_FALSE(run.signal);
  first.part.ranks.front().ended_at.clear();  // nobody saw when
  const RunRecord other = merge_run(launch_of(), std::vector{ended_by_launcher, first});
  EXPECT_EQ(other.signal, 15);
  EXPECT_FALSE(other.exit_status);
}

TEST(MergeRun, WithoutGpuTheRanksAreTheDevices) {
  NodeReport report = report_of("a", 0, 0);
  EXPECT_EQ(merge_run(launch_of(), std::vector{report}).devices.count, 1);
  report.registered_ranks = 4;
  const RunRecord run = merge_run(launch_of(), std::vector{report});
  EXPECT_EQ(run.devices.kind, "cpu_rank");
  EXPECT_EQ(run.devices.count, 4);
  EXPECT_FALSE(run.energy.total.has_value());  // missing is missing
}

TEST(NodeReportJson, ReadsBackWhatItWrote) {
  NodeReport report = report_of("node-7", 2, 0);
  report.groups = {group_of("package-0", "cpu", 1.0 / 3.0, Provenance::kMeasured),
                   group_of("estimate/dram", "dram", 10.0, Provenance::kEstimated)};
  report.groups[1].energy.inputs = {{"power_w", "10"}};
  report.gpus = {"GPU-1", "GPU-2"};
  report.registered_ranks = 2;
  const std::string text = format_node_report(report);
  const auto parsed = parse_node_report(text);
  ASSERT_TRUE(parsed.ok()) << parsed.error().text();
  EXPECT_EQ(format_node_report(*parsed), text);
  EXPECT_EQ(parsed->groups.at(0).energy.energy, report.groups[0].energy.energy);
  for (const char* wrong : {"", "[]", "{}", R"({"schema":"joulescale.node/1"})"}) {
    EXPECT_FALSE(parse_node_report(wrong).ok()) << wrong;
  }
}

TEST(FinishRun, IsIdempotentAndWaitsForAllRanks) {
  const TempDir directory;
  const RunDirectory run{directory / "run"};
  LaunchInfo launch = launch_of();
  launch.expected_ranks = 2;
  ASSERT_TRUE(join_launch(run.path, "x", launch, 0).ok());
  const NodeDirectory a = create_node_directory(run, "a").value();
  ASSERT_TRUE(write_file_atomic(a.report(), format_node_report(report_of("a", 0, 0))).ok());
  const auto early = finish_run(run.path);
  ASSERT_FALSE(early.ok());
  EXPECT_THAT(early.error().text(), HasSubstr("1 of 2 ranks"));
  const NodeDirectory b = create_node_directory(run, "b").value();
  ASSERT_TRUE(write_file_atomic(b.report(), format_node_report(report_of("b", 1, 0))).ok());
  EXPECT_TRUE(finish_run(run.path).value().was_new);
  const std::string first = read_file(run.run_file()).value();
  EXPECT_FALSE(finish_run(run.path).value().was_new);
  EXPECT_EQ(read_file(run.run_file()).value(), first);
  std::ofstream(b.report()) << "{\"schema\": \"joulescale.node/1\", \"ident";
  EXPECT_FALSE(finish_run(run.path).ok());
  EXPECT_EQ(read_file(run.run_file()).value(), first);
}

TEST(Environment, RecordsTheAllowListAndNoSecrets) {
  const EnvironmentMap recorded = recordable_environment({{"SLURM_JOB_ID", "7"},
                                                          {"SLURM_JWT", "eyJ"},
                                                          {"OMP_NUM_THREADS", "2"},
                                                          {"NCCL_SECRET_TOKEN", "x"},
                                                          {"WANDB_API_KEY", "x"},
                                                          {"HOME", "/root"},
                                                          {"HOSTNAME", "h"}});
  EXPECT_EQ(recorded,
            (EnvironmentMap{{"SLURM_JOB_ID", "7"}, {"OMP_NUM_THREADS", "2"}, {"HOSTNAME", "h"}}));
}

TEST(Hardware, CountsSocketsAndCores) {
  const HardwareRecord hardware = parse_cpuinfo(
      "model name\t: CPU X\nphysical id\t: 0\ncore id\t: 0\n\n"
      "model name\t: CPU X\nphysical id\t: 0\ncore id\t: 1\n\n"
      "model name\t: CPU X\nphysical id\t: 1\ncore id\t: 0\n\n"
      "model name\t: CPU X\nphysical id\t: 1\ncore id\t: 0\n");
  EXPECT_EQ(hardware.cpu_model, "CPU X");
  EXPECT_EQ(hardware.sockets, 2);
  EXPECT_EQ(hardware.cores, 3);
  EXPECT_FALSE(parse_cpuinfo("").sockets.has_value());
}

}  // namespace
}  // namespace joulescale
