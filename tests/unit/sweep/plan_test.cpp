// SPDX-License-Identifier: Apache-2.0
#include "joulescale/sweep/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "joulescale/sweep/local/cpu_sets.h"

namespace joulescale {
namespace {

using ::testing::ElementsAre;

StudySpec example_study() {
  StudySpec spec;
  spec.name = "demo";
  spec.repetitions = 2;
  spec.seed = 7;
  spec.workload.options = {{"model", "resnet8", 3}, {"flip", std::nullopt, 4}};
  spec.series = {{"lbs", {{1, 64, 1}, {2, 64, 1}}, 1},
                 {"gbs", {{1, 128, 1}, {2, 64, 1}}, 2},
                 {"acc", {{1, 64, 2}}, 3}};
  return spec;
}

std::vector<std::string> names(const Plan& plan) {
  std::vector<std::string> found;
  found.reserve(plan.runs.size());
  for (const PlannedRun& run : plan.runs) {
    found.push_back(run.name);
  }
  return found;
}

TEST(Plan, RunsSharedConfigurationsOnceAndRepetitionByRepetition) {
  const Plan plan = make_plan(example_study());
  EXPECT_THAT(names(plan),
              ElementsAre("g1-lbs64-gbs64-r0",
                          "g2-lbs64-gbs128-r0",
                          "g1-lbs128-gbs128-r0",
                          "g1-lbs64-acc2-gbs128-r0",
                          "g1-lbs64-gbs64-r1",
                          "g2-lbs64-gbs128-r1",
                          "g1-lbs128-gbs128-r1",
                          "g1-lbs64-acc2-gbs128-r1"));
  EXPECT_EQ(plan.runs[1].series, "lbs");
  EXPECT_THAT(plan.runs[1].more_series, ElementsAre("gbs"));
  EXPECT_EQ(plan.runs[5].seed, 8);
  EXPECT_THAT(plan.merged,
              ElementsAre("series 'gbs': g2-lbs64-gbs128 is run once, with series 'lbs'"));
}

TEST(Plan, StudyRecordsHoldTheAxes) {
  const StudySpec spec = example_study();
  const StudyRecord record = study_record(spec, make_plan(spec).runs[7]);
  EXPECT_EQ(record.name, "demo");
  EXPECT_EQ(record.repetition, 1);
  EXPECT_EQ(record.axes.at("devices"), AxisValue(std::int64_t{1}));
  EXPECT_EQ(record.axes.at("local_batch_size"), AxisValue(std::int64_t{64}));
  EXPECT_EQ(record.axes.at("accumulation_steps"), AxisValue(std::int64_t{2}));
  EXPECT_EQ(record.axes.at("global_batch_size"), AxisValue(std::int64_t{128}));
}

TEST(Plan, TrainingCommandsAreOurTrainWithAllOptions) {
  StudySpec spec = example_study();
  spec.monitor.rate_hz = 10;
  spec.monitor.baseline = "10s";
  const Plan plan = make_plan(spec);
  EXPECT_THAT(run_command(spec, plan.runs[3], {"/d/run", "/d/study.json"}, "/bin/joulescale"),
              ElementsAre("/bin/joulescale",
                          "train",
                          "--ranks=1",
                          "--output=/d/run",
                          "--study=/d/study.json",
                          "--rate=10",
                          "--baseline=10s",
                          "--model=resnet8",
                          "--flip",
                          "--local-batch-size=64",
                          "--accumulation-steps=2",
                          "--seed=7"));
}

TEST(Plan, OtherCommandsGetTheirPlaceholders) {
  StudySpec spec = example_study();
  spec.workload = {};
  spec.workload.kind = WorkloadKind::kCommand;
  spec.workload.samples = 500;
  spec.workload.argv = {"x{devices}",
                        "{local_batch_size}/{global_batch_size}",
                        "{{seed}}",
                        "{",
                        "a}{b}",
                        "{samples} {repetition} {accumulation_steps} {run_dir}",
                        ""};
  const Plan plan = make_plan(spec);
  EXPECT_THAT(run_command(spec, plan.runs[5], {"/d/{seed}", "/d/s.json"}, "joulescale"),
              ElementsAre("joulescale",
                          "monitor",
                          "--output=/d/{seed}",
                          "--study=/d/s.json",
                          "--",
                          "x2",
                          "64/128",
                          "{8}",
                          "{",
                          "a}{b}",
                          "500 1 1 /d/{seed}",
                          ""));
}

TEST(Plan, OnlyAdditionsAreCompatible) {
  const StudySpec spec = example_study();
  EXPECT_EQ(incompatible_change(spec, spec), "");
  StudySpec more = spec;
  more.repetitions = 3;
  more.retries = 5;
  more.series.push_back({"new", {{4, 64, 1}}, 4});
  std::swap(more.workload.options[0], more.workload.options[1]);
  EXPECT_EQ(incompatible_change(spec, more), "");
  EXPECT_EQ(incompatible_change(more, spec), "its run g4-lbs64-gbs256-r0 is not in the new file");
  StudySpec other = spec;
  other.workload.options[0].value = "resnet20";
  EXPECT_EQ(incompatible_change(spec, other), "its [workload] is another");
  other = spec;
  other.seed = 8;
  EXPECT_EQ(incompatible_change(spec, other), "its seed is 7, not 8");
  other = spec;
  other.monitor.rate_hz = 1;
  EXPECT_EQ(incompatible_change(spec, other), "its [monitor] is another");
}

TEST(CpuSets, AreDisjointOfOneSizeOrEmpty) {
  EXPECT_THAT(divide_cpus({2, 3, 5, 7, 9}, 2), ElementsAre(ElementsAre(2, 3), ElementsAre(5, 7)));
  EXPECT_THAT(divide_cpus({4, 6}, 2), ElementsAre(ElementsAre(4), ElementsAre(6)));
  EXPECT_THAT(divide_cpus({4, 6}, 3),
              ElementsAre(std::vector<int>(), std::vector<int>(), std::vector<int>()));
  EXPECT_FALSE(available_cpus().empty());
}

}  // namespace
}  // namespace joulescale
