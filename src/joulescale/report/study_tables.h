// SPDX-License-Identifier: Apache-2.0
// The tables of a study. Every one that shows an energy says in its title and columns when that
// energy is estimated.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "joulescale/analysis/study_analysis.h"
#include "joulescale/record/run_record.h"
#include "joulescale/report/table.h"

namespace joulescale {

/// What a report is made of.
struct StudyReport {
  std::string source;  // where it was read from, as the user named it
  StudyAnalysis analysis;
  std::vector<RunRecord> runs;        // all, failed ones too; empty for a file of summaries
  std::vector<std::string> problems;  // what could not be read
  /// Of the study's plan, where it is known.
  std::optional<std::size_t> num_planned_runs;
};

/// Which columns a table has.
enum class Columns {
  kInformative,  // leaves out those that are empty, or the same for all and told elsewhere
  kAll,          // for programs: always the same
};

/// One row a configuration and series (a configuration of two series stands in both).
Table configuration_table(const StudyReport& report, Columns which);

/// One row a group and form of fit.
Table fit_table(const StudyReport& report, Columns which);

/// Speed-up, parallel efficiency and energy per sample within each series.
Table scaling_table(const StudyReport& report);

/// Time of each phase of a configuration; no rows where no run recorded phases.
Table phase_table(const StudyReport& report, Columns which);

/// One row a run, failed ones too.
Table run_table(const StudyReport& report);

/// One row a run with an idle baseline; no rows where no run has one.
Table baseline_table(const StudyReport& report);

/// One row a flag that some run carries, with its meaning.
Table flag_table(const StudyReport& report);

/// The runs that failed, and why.
Table failed_run_table(const StudyReport& report);

/// "GPU hours", "CPU-rank hours"; "device hours" where a study holds both or neither is known.
std::string device_hours_title(const StudyAnalysis& analysis);

}  // namespace joulescale
