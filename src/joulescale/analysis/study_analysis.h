// SPDX-License-Identifier: Apache-2.0
// The analysis of a study: its configurations, the groups that fits are made over, and what must be
// said about the numbers. Pure functions of run records; nothing is read or written here.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "joulescale/analysis/configuration.h"
#include "joulescale/analysis/energy_basis.h"
#include "joulescale/analysis/regression.h"
#include "joulescale/record/run_record.h"

namespace joulescale {

/// The group that holds every distinct configuration once.
inline constexpr std::string_view kAllGroup = "all";

struct Group {
  std::string name;                         // a series, or kAllGroup
  std::vector<std::size_t> configurations;  // indices into StudyAnalysis::configurations
  std::size_t num_points = 0;               // configurations with energy and device hours
  std::vector<Fit> fits;                    // empty where none is determined or allowed
};

struct StudyAnalysis {
  std::string name;
  EnergyBasis energy_basis = EnergyBasis::kMeasured;
  bool all_estimated = false;  // kWithEstimates and no run has any measured energy
  bool sample_spread = true;   // sd is the sample one; false: as given by the file
  std::vector<MeasuredConfiguration> configurations;  // ordered by key
  std::vector<Group> groups;                          // series in order of appearance, then "all"
  std::vector<std::string> notes;                     // one line each, for people
  std::size_t num_complete_runs = 0;
  std::size_t num_failed_runs = 0;
};

struct AnalysisOptions {
  /// Compare and fit energies whose totals hold different components.
  bool allow_mixed_totals = false;
};

/// Runs that failed are counted, never averaged. A run given twice (same id and start) counts once.
StudyAnalysis analyze_runs(std::span<const RunRecord> runs, const AnalysisOptions& options);

/// " (estimated)", " (with estimates)" or "": what every title of an energy carries.
std::string_view energy_label(const StudyAnalysis& analysis);

/// Why a run is not complete: "exit status 1", "signal 9", "no exit status".
std::string failure_reason(const RunRecord& run);

/// Groups over configurations that are there already, with their fits; adds notes.
void add_groups_and_fits(StudyAnalysis& analysis, const AnalysisOptions& options);

}  // namespace joulescale
