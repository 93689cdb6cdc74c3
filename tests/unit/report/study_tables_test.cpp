// SPDX-License-Identifier: Apache-2.0
#include "joulescale/report/study_tables.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "joulescale/report/measurement_notes.h"
#include "joulescale/report/table_writers.h"

#include "tests/support/synthetic_study.h"

namespace joulescale {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::synthetic_study;
using testing::with_estimated_energy;

StudyReport report_of(std::vector<RunRecord> runs) {
  StudyReport report;
  report.source = "study";
  report.analysis = analyze_runs(runs, {});
  report.runs = std::move(runs);
  return report;
}

std::vector<RunRecord> estimated_study() {
  auto runs = synthetic_study();
  std::transform(runs.begin(), runs.end(), runs.begin(), with_estimated_energy);
  return runs;
}

std::size_t column_index(const Table& table, const std::string& key) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].key == key) {
      return i;
    }
  }
  ADD_FAILURE() << "no column " << key;
  return 0;
}

TEST(StudyTables, ConfigurationsAreTheStudysNumbers) {
  const Table table = configuration_table(report_of(synthetic_study()), Columns::kInformative);
  const std::string text = format_text_table(table);
  const std::string expected =
      "constant_lbs      2   64  128    20000      156     2  33.33 \xC2\xB1 0.47  "
      "0.01852 \xC2\xB1 0.00026  0.0004545 \xC2\xB1 0.0000064  0.02455 \xC2\xB1 0  "
      "1080000 \xC2\xB1 15000   8430 \xC2\xB1 120  20.50 \xC2\xB1 0.28\n";
  EXPECT_THAT(text, HasSubstr(expected));
  EXPECT_THAT(text, HasSubstr("* energy: measured; contains cpu, dram\n"));
  EXPECT_THAT(text, HasSubstr("* instrument accuracy: cpu 3 % (synthetic figure); dram unknown\n"));
}

TEST(MeasurementNotes, SayWhatMakesTheMeansDoubtful) {
  StudyReport report = report_of(synthetic_study());
  const auto text = [&] {
    std::string all;
    for (const std::string& note : measurement_notes(report)) {
      all += note + "\n";
    }
    return all;
  };
  EXPECT_THAT(text(), Not(HasSubstr("DOUBTFUL")));
  EXPECT_THAT(text(), Not(HasSubstr("not finished")));
  EXPECT_THAT(text(), Not(HasSubstr("another number of devices")));
  report.runs[0].flags = {"no_sensor", "suspend"};
  report.runs[0].energy.total.reset();  // which is said elsewhere
  report.runs[1].flags = {"suspend", "gap"};
  report.runs[1].devices.count += 1;
  report.num_planned_runs = report.analysis.num_complete_runs + 2;
  EXPECT_THAT(text(), HasSubstr("flagged gap (1 run), suspend (2 runs)"));
  EXPECT_THAT(text(), HasSubstr("not finished"));
  EXPECT_THAT(text(), HasSubstr("1 run used another number of devices"));
}

TEST(StudyTables, RunThatDivergedSaysWhere) {
  auto runs = synthetic_study();
  runs.front().training->metrics["diverged_at_update"] = 7;
  const Table table = run_table(report_of(runs));
  const std::size_t status = column_index(table, "status");
  EXPECT_EQ(cell_text(table.rows[0][status]), "complete; diverged at update 7");
  EXPECT_EQ(cell_text(table.rows[1][status]), "complete");
}

TEST(StudyTables, ConfigurationOfTwoSeriesStandsInBoth) {
  const Table table = configuration_table(report_of(synthetic_study()), Columns::kInformative);
  EXPECT_EQ(table.rows.size(), 5U);  // four configurations, one of them in two series
}

TEST(StudyTables, EveryEnergyTitleOfAnEstimatedStudySaysSo) {
  const StudyReport report = report_of(estimated_study());
  for (const Columns columns : {Columns::kInformative, Columns::kAll}) {
    for (const Table& table : {configuration_table(report, columns),
                               fit_table(report, columns),
                               scaling_table(report),
                               run_table(report)}) {
      EXPECT_THAT(table.title, HasSubstr("(estimated)")) << table.name;
      for (const Column& column : table.columns) {
        if (column.title.starts_with("energy")) {
          EXPECT_THAT(column.title, HasSubstr("(estimated)"));
          EXPECT_THAT(column.key, HasSubstr("with_estimates"));
        }
      }
    }
  }
}

TEST(StudyTables, MeasuredStudyIsNotLabelled) {
  const StudyReport report = report_of(synthetic_study());
  const std::string text = format_text_table(configuration_table(report, Columns::kInformative)) +
                           format_text_table(fit_table(report, Columns::kInformative));
  EXPECT_THAT(text, Not(HasSubstr("estimate")));
}

TEST(StudyTables, DivergedConfigurationShowsNoError) {
  auto runs = synthetic_study();
  for (RunRecord& run : runs) {
    if (run.study->series == "large_batch") {
      run.training->top1_error.reset();
    }
  }
  const Table table = configuration_table(report_of(runs), Columns::kInformative);
  EXPECT_EQ(cell_text(table.rows.back()[column_index(table, "top1_error_percent")]), "-");
}

TEST(StudyTables, ColumnsForProgramsDoNotDependOnTheStudy) {
  auto bare = synthetic_study();
  for (RunRecord& run : bare) {
    run.training->updates.reset();
    run.study.reset();
  }
  const Table all = configuration_table(report_of(synthetic_study()), Columns::kAll);
  const Table of_bare = configuration_table(report_of(bare), Columns::kAll);
  ASSERT_EQ(all.columns.size(), of_bare.columns.size());
  for (std::size_t i = 0; i < all.columns.size(); ++i) {
    EXPECT_EQ(all.columns[i].key, of_bare.columns[i].key);
  }
}

TEST(StudyTables, RowsHaveACellForEachColumn) {
  auto runs = synthetic_study();
  runs.front().exit_status = 1;
  const StudyReport report = report_of(runs);
  for (const Table& table : {configuration_table(report, Columns::kInformative),
                             configuration_table(report, Columns::kAll),
                             fit_table(report, Columns::kInformative),
                             fit_table(report, Columns::kAll),
                             scaling_table(report),
                             phase_table(report, Columns::kInformative),
                             phase_table(report, Columns::kAll),
                             run_table(report),
                             failed_run_table(report),
                             component_table(report),
                             source_table(report),
                             hardware_table(report)}) {
    EXPECT_FALSE(table.rows.empty()) << table.name;
    for (const auto& row : table.rows) {
      EXPECT_EQ(row.size(), table.columns.size()) << table.name;
    }
  }
}

TEST(StudyTables, FailedRunsAreListedWithTheirReason) {
  auto runs = synthetic_study();
  runs.front().exit_status = 7;
  const Table table = failed_run_table(report_of(runs));
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(cell_text(table.rows[0].back()), "exit status 7");
}

TEST(StudyTables, EstimatesShowTheirInputs) {
  const Table table = component_table(report_of(estimated_study()));
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(cell_text(table.rows[0][column_index(table, "provenance")]), "estimated");
  EXPECT_EQ(cell_text(table.rows[0][column_index(table, "inputs")]), "cores = 2, tdp_w = 65");
}

TEST(StudyTables, BaselinesStandBesideTheRuns) {
  auto runs = synthetic_study();
  EXPECT_TRUE(baseline_table(report_of(runs)).rows.empty());
  BaselineRecord& baseline = runs[1].baseline.emplace();
  baseline.duration = Seconds(10.0);
  baseline.power = Watts(36.0);
  baseline.energy = Joules(3.6e6);
  baseline.above = Joules(-7.2e6);
  baseline.notes = {"not idle", "late"};
  const Table table = baseline_table(report_of(runs));
  ASSERT_EQ(table.rows.size(), 1U);
  ASSERT_EQ(table.rows[0].size(), table.columns.size());
  EXPECT_EQ(cell_text(table.rows[0][0]), runs[1].id);
  EXPECT_EQ(cell_text(table.rows[0][column_index(table, "baseline_power_w")]), "36.00");
  EXPECT_EQ(cell_text(table.rows[0][column_index(table, "above_baseline_kwh")]), "-2.000");
  EXPECT_EQ(cell_text(table.rows[0][column_index(table, "estimated_power_w")]), "-");
  EXPECT_EQ(cell_text(table.rows[0].back()), "not idle; late");
}

TEST(StudyTables, FlagsAreExplained) {
  const Table table = flag_table(report_of(estimated_study()));
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(cell_text(table.rows[0][0]), "no_sensor");
  EXPECT_EQ(cell_text(table.rows[0][1]), "8");
  EXPECT_EQ(cell_text(table.rows[0][2]),
            "no energy counter was read, or one that should count was not");
}

}  // namespace
}  // namespace joulescale
