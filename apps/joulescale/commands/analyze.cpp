// SPDX-License-Identifier: Apache-2.0
// joulescale analyze: fits and scaling of a study.
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "joulescale/base/file.h"
#include "joulescale/base/output.h"
#include "joulescale/report/analysis_json.h"
#include "joulescale/report/measurement_notes.h"
#include "joulescale/report/table_writers.h"

#include "apps/joulescale/commands/commands.h"
#include "apps/joulescale/commands/study_source.h"
#include "apps/validators.h"

namespace joulescale {
namespace {

constexpr const char* kAnalyzeExample =
    "Example:\n  joulescale analyze my-study --format json > analysis.json\n"
    "  energy = a * device hours (+ b) and c * h^k for each series, with 95 % intervals";

struct AnalyzeOptions {
  StudySourceOptions study;
  std::string format = "table";
};

std::string format_analysis_tables(const StudyReport& report) {
  Table fits = fit_table(report, Columns::kInformative);
  for (const auto& notes : {measurement_notes(report), report.analysis.notes}) {
    fits.notes.insert(fits.notes.end(), notes.begin(), notes.end());
  }
  return format_text_table(fits) + "\n" + format_text_table(scaling_table(report));
}

Result<void> run_analyze(const CLI::App& command, const AnalyzeOptions& options) {
  JOULESCALE_TRY_ASSIGN(const StudyReport report, load_study(command, options.study));
  const std::string text = options.format == "json" ? format_analysis_json(report.analysis)
                                                    : format_analysis_tables(report);
  return write_all(STDOUT_FILENO, text, "standard output");
}

}  // namespace

void add_analyze_command(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<AnalyzeOptions>();
  CLI::App* command =
      app.add_subcommand("analyze", "Fits of energy over device hours, and scaling");
  command->footer(kAnalyzeExample);
  add_study_source(*command, options->study);
  command->add_option("--format", options->format, "table or json")
      ->check(one_of({"table", "json"}))
      ->capture_default_str();
  add_study_flags(*command, options->study);
  command->callback([command, options, &invocation] {
    if (const auto done = run_analyze(*command, *options); !done) {
      print_text(stderr, fmt::format("joulescale analyze: {}\n", done.error().text()));
      invocation.exit_status = exit_status_of(done.error());
    }
  });
}

}  // namespace joulescale
