// SPDX-License-Identifier: Apache-2.0
#include "joulescale/analysis/study_analysis.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "joulescale/analysis/scaling.h"

#include "tests/support/synthetic_study.h"

namespace joulescale {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using testing::synthetic_run;
using testing::synthetic_study;
using testing::SyntheticRun;
using testing::with_estimated_energy;

const Group& group_named(const StudyAnalysis& analysis, const std::string& name) {
  for (const Group& group : analysis.groups) {
    if (group.name == name) {
      return group;
    }
  }
  ADD_FAILURE() << "no group " << name;
  return analysis.groups.back();
}

TEST(StudyAnalysis, RepetitionsBecomeOneConfiguration) {
  const StudyAnalysis analysis = analyze_runs(synthetic_study(), {});
  ASSERT_EQ(analysis.configurations.size(), 4U);
  EXPECT_EQ(analysis.name, "synthetic study");
  EXPECT_EQ(analysis.num_complete_runs, 8U);
  const MeasuredConfiguration& first = analysis.configurations.front();
  EXPECT_EQ(first.repetitions, 2U);
  EXPECT_EQ(first.key.num_devices, 1);
  EXPECT_EQ(first.updates, 20000 / 64);
  EXPECT_NEAR(*first.runtime_s.mean, 60.6, 1e-9);
  EXPECT_NEAR(*first.runtime_s.sd, 1.2 / std::sqrt(2.0), 1e-9);
  EXPECT_NEAR(*first.energy_kwh.mean, 1515.0 / 3.6e6, 1e-12);
  EXPECT_NEAR(*first.energy_kwh_per_device_hour.mean, 1500.0 / 3.6e6 / (60.0 / 3600), 1e-12);
  EXPECT_NEAR(*first.top1_error_percent.mean, 18.2, 1e-12);
  EXPECT_NEAR(*first.phases.at("forward").share.mean, 0.30, 1e-12);
  EXPECT_THAT(analysis.notes, IsEmpty());
}

TEST(StudyAnalysis, RunOfTwoSeriesStandsInBothAndOnceInAll) {
  const StudyAnalysis analysis = analyze_runs(synthetic_study(), {});
  EXPECT_EQ(group_named(analysis, "constant_lbs").num_points, 2U);
  EXPECT_EQ(group_named(analysis, "constant_gbs").num_points, 2U);
  EXPECT_EQ(group_named(analysis, "large_batch").num_points, 1U);
  EXPECT_EQ(analysis.groups.back().name, "all");
  EXPECT_EQ(analysis.groups.back().num_points, 4U);
}

TEST(StudyAnalysis, FailedRunsAreCountedNotAveraged) {
  auto runs = synthetic_study();
  runs[0].exit_status = 3;
  runs[1].exit_status.reset();
  runs[1].signal = 9;
  const StudyAnalysis analysis = analyze_runs(runs, {});
  EXPECT_EQ(analysis.num_complete_runs, 6U);
  EXPECT_EQ(analysis.num_failed_runs, 2U);
  EXPECT_EQ(analysis.configurations.front().repetitions, 1U);
  EXPECT_EQ(failure_reason(runs[0]), "exit status 3");
  EXPECT_EQ(failure_reason(runs[1]), "ended by signal 9");
}

TEST(StudyAnalysis, RunGivenTwiceCountsOnce) {
  auto runs = synthetic_study();
  runs.push_back(runs.front());
  const StudyAnalysis analysis = analyze_runs(runs, {});
  EXPECT_EQ(analysis.num_complete_runs, 8U);
  EXPECT_THAT(analysis.notes, Contains(HasSubstr("was given twice and counts once")));
}

TEST(StudyAnalysis, EqualSeedsAreSaid) {
  auto runs = synthetic_study();
  for (RunRecord& run : runs) {
    run.training->seed = 0;
  }
  EXPECT_THAT(analyze_runs(runs, {}).notes,
              Contains(HasSubstr("2 repetitions have the same seed 0")));
}

TEST(StudyAnalysis, OneRunWithoutMeasuredTotalMovesTheWholeStudy) {
  auto runs = synthetic_study();
  EXPECT_EQ(energy_label(analyze_runs(runs, {})), "");
  runs[0] = with_estimated_energy(runs[0]);
  const StudyAnalysis mixed = analyze_runs(runs, {});
  EXPECT_EQ(mixed.energy_basis, EnergyBasis::kWithEstimates);
  EXPECT_EQ(energy_label(mixed), " (with estimates)");
  EXPECT_EQ(mixed.configurations.front().energy_kwh.count, 2U);
  for (RunRecord& run : runs) {
    run = run.energy.total ? with_estimated_energy(run) : run;
  }
  EXPECT_EQ(energy_label(analyze_runs(runs, {})), " (estimated)");
}

TEST(StudyAnalysis, UnlikeTotalsAreNotFittedTogether) {
  auto runs = synthetic_study();
  for (RunRecord& run : runs) {
    if (run.study->series == "large_batch") {
      run.energy.total_includes = {"cpu"};
    }
  }
  const StudyAnalysis analysis = analyze_runs(runs, {});
  EXPECT_TRUE(analysis.groups.back().fits.empty());
  EXPECT_FALSE(group_named(analysis, "constant_lbs").fits.empty());
  EXPECT_THAT(analysis.notes,
              Contains("group all: energies hold different components ({cpu} and {cpu, dram}) and "
                       "are not fitted together"));
  const StudyAnalysis allowed = analyze_runs(runs, {.allow_mixed_totals = true});
  EXPECT_EQ(allowed.groups.back().fits.size(), 3U);
}

TEST(StudyAnalysis, UnlikeTotalsOfRepetitionsHaveNoMean) {
  auto runs = synthetic_study();
  runs[0].energy.total_includes = {"cpu"};
  const StudyAnalysis analysis = analyze_runs(runs, {});
  EXPECT_FALSE(analysis.configurations.front().energy_kwh.mean);
  EXPECT_THAT(analysis.notes, Contains(HasSubstr("totals of the repetitions hold different")));
}

TEST(StudyAnalysis, DivergedRunHasNoErrorValue) {
  auto runs = synthetic_study();
  runs[0].training->top1_error.reset();
  runs[0].training->loss = std::numeric_limits<double>::infinity();
  const StudyAnalysis analysis = analyze_runs(runs, {});
  const MeasuredConfiguration& first = analysis.configurations.front();
  EXPECT_EQ(first.top1_error_percent.count, 1U);
  EXPECT_FALSE(first.top1_error_percent.sd);
  EXPECT_EQ(first.loss.count, 1U);
  EXPECT_THAT(analysis.notes, Contains(HasSubstr("top-1 error is the mean of 1 of 2 repetitions")));
}

TEST(StudyAnalysis, ForeignProgramsTakeTheirBatchFromTheAxes) {
  RunRecord run = synthetic_run({});
  run.training.reset();
  const StudyAnalysis analysis = analyze_runs(std::vector{run}, {});
  EXPECT_EQ(analysis.configurations.front().key.local_batch_size, 64);
  EXPECT_FALSE(analysis.configurations.front().top1_error_percent.mean);
}

TEST(StudyAnalysis, DifferentCommandsAreNotRepetitions) {
  RunRecord first = synthetic_run({});
  first.training.reset();
  first.study.reset();
  RunRecord second = first;
  second.id = "other";
  second.command = {"sleep", "1"};
  EXPECT_EQ(analyze_runs(std::vector{first, second}, {}).configurations.size(), 2U);
  second.command = first.command;
  EXPECT_EQ(analyze_runs(std::vector{first, second}, {}).configurations.size(), 1U);
}

TEST(StudyAnalysis, NoRunsGiveAnEmptyAnalysis) {
  const StudyAnalysis analysis = analyze_runs({}, {});
  EXPECT_TRUE(analysis.configurations.empty());
  ASSERT_EQ(analysis.groups.size(), 1U);
  EXPECT_TRUE(analysis.groups.front().fits.empty());
}

TEST(StudyAnalysis, SeriesNamedAllIsNotDoubled) {
  SyntheticRun parameters;
  parameters.series = "all";
  const StudyAnalysis analysis = analyze_runs(std::vector{synthetic_run(parameters)}, {});
  EXPECT_EQ(analysis.groups.size(), 1U);
  EXPECT_THAT(analysis.notes, Contains(StartsWith("a series is named 'all'")));
}

TEST(Scaling, StrongScalingIsTheRatioOfTimes) {
  const StudyAnalysis analysis = analyze_runs(synthetic_study(), {});
  const auto points = scaling_of(analysis, group_named(analysis, "constant_lbs"));
  ASSERT_EQ(points.size(), 2U);
  EXPECT_DOUBLE_EQ(*points[0].speedup, 1.0);
  EXPECT_NEAR(*points[1].speedup, 60.0 / 33.0, 1e-12);
  EXPECT_NEAR(*points[1].efficiency, 60.0 / 33.0 / 2, 1e-12);
  EXPECT_NEAR(*points[1].energy_ratio, 1620.0 / 1500.0, 1e-12);
}

TEST(Scaling, GrowingDataSetCountsThroughput) {
  SyntheticRun parameters;
  parameters.series = "w";
  std::vector<RunRecord> runs = {synthetic_run(parameters)};
  parameters.devices = 4;
  runs.push_back(synthetic_run(parameters));
  runs[1].training->samples = *runs[0].training->samples * 4;
  const StudyAnalysis analysis = analyze_runs(runs, {});
  const auto points = scaling_of(analysis, analysis.groups.front());
  EXPECT_NEAR(*points[1].speedup, 4.0, 1e-12);
  EXPECT_NEAR(*points[1].efficiency, 1.0, 1e-12);
}

}  // namespace
}  // namespace joulescale
