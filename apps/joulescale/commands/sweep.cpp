// SPDX-License-Identifier: Apache-2.0
// joulescale sweep: plan, run and look at scaling studies.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "joulescale/base/output.h"
#include "joulescale/config/study_file.h"
#include "joulescale/sweep/overview.h"
#include "joulescale/sweep/plan.h"
#include "joulescale/sweep/runner.h"
#include "joulescale/sweep/study_directory.h"
#include "joulescale/sweep/workload_check.h"

#include "apps/joulescale/commands/commands.h"
#include "apps/validators.h"

namespace joulescale {
namespace {

namespace fs = std::filesystem;

struct SweepOptions {
  std::string target;
  std::string output;
  std::string format = "table";
  bool print_config = false;
  bool quiet = false;
};

Error no_study(const fs::path& path) {
  return {ErrorCode::kInvalidArgument,
          fmt::format("'{}' holds no study: give a study file, or a directory that sweep run made",
                      path.native())};
}

Result<int> plan(const SweepOptions& options) {
  JOULESCALE_TRY_ASSIGN(const StudySpec spec, read_study(options.target));
  if (options.print_config) {
    print_text(stdout, format_study_spec(spec));
    return 0;
  }
  std::error_code ignored;
  const auto checked =
      check_workload(spec, make_plan(spec).runs, options.target, fs::current_path(ignored));
  if (!checked && checked.error().code() != ErrorCode::kUnavailable) {
    return checked.error();
  }
  const StudyDirectory directory(options.output.empty() ? "DIR" : options.output);
  print_text(
      stdout,
      options.format == "json" ? plan_as_json(spec, directory) : plan_as_table(spec, directory));
  return 0;
}

Result<int> run(const SweepOptions& options) {
  SweepRequest request{options.target, options.output, options.quiet};
  std::error_code ignored;
  if (fs::is_directory(options.target, ignored)) {
    const StudyDirectory directory(options.target);
    if (!directory.exists()) {
      return no_study(options.target);
    }
    if (!options.output.empty()) {
      return Error(ErrorCode::kInvalidArgument,
                   "--output is for a study file; a study directory is continued where it is");
    }
    request.study_file = directory.study_file();
    request.directory = directory.path();
  } else if (options.output.empty()) {
    return Error(
        ErrorCode::kInvalidArgument,
        fmt::format("--output DIR is missing: where to put the runs of '{}'", options.target));
  }
  return run_sweep(request);
}

Result<int> status(const SweepOptions& options) {
  const StudyDirectory directory(options.target);
  if (!directory.exists()) {
    return no_study(options.target);
  }
  JOULESCALE_TRY_ASSIGN(const StudySpec spec, read_study(directory.study_file()));
  print_text(stdout,
             options.format == "json" ? status_as_json(spec, directory)
                                      : status_as_table(spec, directory));
  return 0;
}

using Action = Result<int> (*)(const SweepOptions&);

void set_callback(CLI::App* command,
                  Action action,
                  const std::shared_ptr<SweepOptions>& options,
                  int& exit_status) {
  command->callback([action, options, &exit_status] {
    const auto result = action(*options);
    if (!result) {
      print_text(stderr, fmt::format("joulescale sweep: {}\n", result.error().text()));
    }
    exit_status = result ? *result : exit_status_of(result.error());
  });
}

void add_format(CLI::App* command, SweepOptions& options) {
  command->add_option("--format", options.format, "table or json")
      ->check(one_of({"table", "json"}));
}

}  // namespace

void add_sweep_command(CLI::App& app, Invocation& invocation) {
  auto* const sweep = app.add_subcommand("sweep", "Plan and run scaling studies");
  sweep->require_subcommand(1);
  sweep->footer(
      "Example: run a study; the same command again goes on where it stopped\n"
      "  joulescale sweep run experiments/quickstart.toml --output study");
  const auto options = std::make_shared<SweepOptions>();

  auto* const plan_command = sweep->add_subcommand("plan", "Show the runs of a study file");
  plan_command->add_option("FILE", options->target, "Study file (TOML)")->required();
  plan_command->add_option("--output", options->output, "Study directory, to show what is done");
  plan_command->add_flag(
      "--print-config", options->print_config, "Show the effective configuration instead");
  add_format(plan_command, *options);
  plan_command->footer("Example:\n  joulescale sweep plan experiments/quickstart.toml");
  set_callback(plan_command, plan, options, invocation.exit_status);

  auto* const run_command = sweep->add_subcommand("run", "Run a study, or what is left of it");
  run_command->add_option("FILE|DIR", options->target, "Study file, or study directory")
      ->required();
  run_command->add_option("--output", options->output, "Study directory to make or to continue");
  run_command->add_flag("--quiet", options->quiet, "Say nothing but problems");
  run_command->footer(
      "Example:\n  joulescale sweep run experiments/quickstart.toml --output study");
  set_callback(run_command, run, options, invocation.exit_status);

  auto* const status_command = sweep->add_subcommand("status", "Show the state of a study's runs");
  status_command->add_option("DIR", options->target, "Study directory")->required();
  add_format(status_command, *options);
  status_command->footer("Example:\n  joulescale sweep status study");
  set_callback(status_command, status, options, invocation.exit_status);
}

}  // namespace joulescale
