// SPDX-License-Identifier: Apache-2.0
#include "apps/joulescale/commands/study_source.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "joulescale/analysis/run_summaries.h"
#include "joulescale/base/file.h"
#include "joulescale/store/run_store.h"

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

}  // namespace

Result<StudyReport> load_study(const std::filesystem::path& source,
                               const AnalysisOptions& options) {
  if (is_csv(source)) {
    return load_csv(source, options);
  }
  JOULESCALE_TRY_ASSIGN(LoadedRuns loaded, load_runs(source));
  StudyReport report;
  report.source = source.native();
  report.runs = std::move(loaded.runs);
  report.problems = std::move(loaded.problems);
  report.analysis = analyze_runs(report.runs, options);
  if (report.analysis.num_complete_runs == 0) {
    return no_complete_run(report);
  }
  return report;
}

}  // namespace joulescale
