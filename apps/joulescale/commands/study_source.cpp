// SPDX-License-Identifier: Apache-2.0
#include "apps/joulescale/commands/study_source.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "joulescale/analysis/run_summaries.h"
#include "joulescale/base/file.h"
#include "joulescale/base/output.h"
#include "joulescale/config/study_file.h"
#include "joulescale/store/run_store.h"
#include "joulescale/sweep/plan.h"
#include "joulescale/sweep/study_directory.h"

#include "apps/joulescale/commands/killed_runs.h"

namespace joulescale {
namespace {

constexpr std::size_t kCsvLimitBytes = std::size_t{64} << 20;

bool is_csv(const std::filesystem::path& source) {
  std::error_code ignored;
  return source.extension() == ".csv" && !std::filesystem::is_directory(source, ignored);
}

Result<StudyReport> load_csv(const std::filesystem::path& source, const AnalysisOptions& options) {
  auto text = read_file(source, kCsvLimitBytes);
  if (!text) {
    return Error(ErrorCode::kInvalidArgument, text.error().text());
  }
  JOULESCALE_TRY_ASSIGN(const auto summaries, parse_run_summaries(*text, source.native()));
  StudyReport report;
  report.source = source.native();
  report.analysis = analyze_run_summaries(summaries, options);
  report.analysis.name = source.stem().native();
  return report;
}

Error no_complete_run(const StudyReport& report) {
  const auto failed = std::find_if(
      report.runs.begin(), report.runs.end(), [](const RunRecord& run) { return !succeeded(run); });
  if (failed == report.runs.end()) {
    return {ErrorCode::kInvalidArgument, fmt::format("{}: no run is finished", report.source)};
  }
  return {ErrorCode::kUnavailable,
          fmt::format("{}: no run is complete; {} failed (the first, {}: {})",
                      report.source,
                      report.analysis.num_failed_runs,
                      failed->id,
                      failure_reason(*failed))};
}

/// Nothing for a source that no sweep made, or whose study file is damaged.
std::optional<std::size_t> num_planned_runs(const std::filesystem::path& source) {
  const StudyDirectory directory(source);
  if (!directory.exists()) {
    return std::nullopt;
  }
  const auto study = read_study(directory.study_file());
  return study ? std::optional(make_plan(*study).runs.size()) : std::nullopt;
}

Result<StudyReport> load(const std::filesystem::path& source, const AnalysisOptions& options) {
  if (is_csv(source)) {
    return load_csv(source, options);
  }
  JOULESCALE_TRY_ASSIGN(LoadedRuns loaded, load_runs(source));
  StudyReport report;
  report.source = source.native();
  report.runs = std::move(loaded.runs);
  report.problems = std::move(loaded.problems);
  report.analysis = analyze_runs(report.runs, options);
  report.num_planned_runs = num_planned_runs(source);
  if (report.analysis.num_complete_runs == 0) {
    return no_complete_run(report);
  }
  return report;
}

}  // namespace

void add_study_source(CLI::App& command, StudySourceOptions& options) {
  command
      .add_option("SOURCE",
                  options.source,
                  "study directory, run directory, directory of runs, catalogue, or CSV of run "
                  "summaries")
      ->required();
}

void add_study_flags(CLI::App& command, StudySourceOptions& options) {
  command.add_flag("--allow-mixed-totals",
                   options.analysis.allow_mixed_totals,
                   "compare and fit energies whose totals hold different components");
  command.add_flag("--quiet", options.quiet, "nothing on stderr but errors");
}

Result<StudyReport> load_study(const CLI::App& command, const StudySourceOptions& options) {
  const std::vector<std::string> finished = finish_killed_runs(options.source);
  if (!options.quiet) {
    for (const std::string& line : finished) {
      print_text(stderr, fmt::format("joulescale {}: {}\n", command.get_name(), line));
    }
  }
  JOULESCALE_TRY_ASSIGN(StudyReport report, load(options.source, options.analysis));
  if (!options.quiet) {
    for (const std::string& problem : report.problems) {
      print_text(stderr, fmt::format("joulescale {}: left out: {}\n", command.get_name(), problem));
    }
  }
  return report;
}

}  // namespace joulescale
