// SPDX-License-Identifier: Apache-2.0
// joulescale report: the tables of a study on stdout, and its page.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "joulescale/base/file.h"
#include "joulescale/base/output.h"
#include "joulescale/report/html_page.h"
#include "joulescale/report/table_writers.h"

#include "apps/joulescale/commands/commands.h"
#include "apps/joulescale/commands/study_source.h"
#include "apps/validators.h"

namespace joulescale {
namespace {

constexpr const char* kReportExample =
    "Example:\n  joulescale report my-study --format markdown > results.md\n"
    "  prints the tables and writes the page my-study/report.html";

struct ReportOptions {
  StudySourceOptions study;
  std::string format = "table";
  std::string table;
  std::string html_file;
  bool no_html = false;
};

std::vector<Table> tables_of(const StudyReport& report, const ReportOptions& options) {
  const bool for_programs = options.format == "csv" || options.format == "json";
  const Columns columns = for_programs ? Columns::kAll : Columns::kInformative;
  std::vector<Table> tables = {configuration_table(report, columns),
                               fit_table(report, columns),
                               scaling_table(report),
                               phase_table(report, columns),
                               run_table(report),
                               failed_run_table(report),
                               baseline_table(report)};
  std::string only = options.table;
  if (only.empty() && options.format == "csv") {
    only = "configurations";  // one CSV text holds one table
  }
  const bool everything = options.format == "json";
  std::erase_if(tables, [&](const Table& table) {
    if (!only.empty()) {
      return table.name != only;
    }
    return !everything && (table.rows.empty() || (table.name != "configurations" &&
                                                  table.name != "fits" && table.name != "failed"));
  });
  return tables;
}

std::string format_tables(const StudyReport& report, const ReportOptions& options) {
  const std::vector<Table> tables = tables_of(report, options);
  if (options.format == "json") {
    return format_json_tables(tables, energy_basis_name(report.analysis.energy_basis));
  }
  std::string text;
  for (const Table& table : tables) {
    text += text.empty() ? "" : "\n";
    if (options.format == "markdown") {
      text += format_markdown_table(table);
    } else if (options.format == "latex") {
      text += format_latex_table(table);
    } else if (options.format == "csv") {
      text += format_csv_table(table);
    } else {
      text += format_text_table(table);
    }
  }
  return text;
}

/// Where the page goes; empty for none.
std::filesystem::path page_file(const ReportOptions& options) {
  if (options.no_html) {
    return {};
  }
  if (!options.html_file.empty()) {
    return options.html_file;
  }
  std::error_code ignored;
  const std::filesystem::path source(options.study.source);
  return std::filesystem::is_directory(source, ignored) ? source / "report.html"
                                                        : std::filesystem::path();
}

Result<void> write_page(const StudyReport& report, const ReportOptions& options) {
  const std::filesystem::path file = page_file(options);
  if (file.empty()) {
    return {};
  }
  const auto page = format_html_page(report, JOULESCALE_VERSION);
  if (!page) {
    if (!options.html_file.empty()) {
      return page.error();
    }
    print_text(stderr, fmt::format("joulescale report: {}\n", page.error().text()));
    return {};
  }
  if (auto written = write_file_atomic(file, *page); !written) {
    return std::move(written).error().with_context(
        "cannot write the page (--html FILE puts it elsewhere)");
  }
  if (!options.study.quiet) {
    print_text(stderr, fmt::format("page: {}\n", file.native()));
  }
  return {};
}

Result<void> run_report(const CLI::App& command, const ReportOptions& options) {
  JOULESCALE_TRY_ASSIGN(const StudyReport report, load_study(command, options.study));
  JOULESCALE_TRY(write_all(STDOUT_FILENO, format_tables(report, options), "standard output"));
  return write_page(report, options);
}

}  // namespace

void add_report_command(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command = app.add_subcommand("report", "Tables and page of a study");
  command->footer(kReportExample);
  add_study_source(*command, options->study);
  command->add_option("--format", options->format, "table, markdown, latex, csv or json")
      ->check(one_of({"table", "markdown", "latex", "csv", "json"}))
      ->capture_default_str();
  command
      ->add_option("--table",
                   options->table,
                   "only this one: configurations (all that csv prints otherwise), fits, scaling, "
                   "phases, runs, failed or baselines")
      ->check(
          one_of({"configurations", "fits", "scaling", "phases", "runs", "failed", "baselines"}));
  auto* html = command->add_option(
      "--html", options->html_file, "the page's file; default: SOURCE/report.html for a directory");
  command->add_flag("--no-html", options->no_html, "write no page")->excludes(html);
  add_study_flags(*command, options->study);
  command->callback([command, options, &invocation] {
    if (const auto done = run_report(*command, *options); !done) {
      print_text(stderr, fmt::format("joulescale report: {}\n", done.error().text()));
      invocation.exit_status = exit_status_of(done.error());
    }
  });
}

}  // namespace joulescale
