// SPDX-License-Identifier: Apache-2.0
// joulescale recover: finishes run records whose monitors were killed.
#include "joulescale/monitor/recover.h"

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "joulescale/base/file.h"
#include "joulescale/base/output.h"
#include "joulescale/monitor/summary.h"

#include "apps/joulescale/commands/commands.h"

namespace joulescale {
namespace {

struct RecoverArguments {
  std::vector<std::filesystem::path> directories;
  std::filesystem::path output;
};

int show(const Result<RunRecord>& run, const std::filesystem::path& directory) {
  if (!run) {
    print_text(stderr, fmt::format("joulescale recover: {}\n", run.error().text()));
    return exit_status_of(run.error());
  }
  print_text(stdout, format_summary(*run, std::filesystem::absolute(directory).native()));
  return 0;
}

/// Finishes one run record; says so if it was finished before.
int recover(const std::filesystem::path& directory) {
  const auto file = directory / "run.json";
  const auto before = read_file(file);
  const auto run = recover_run(directory);
  const auto after = read_file(file);
  if (run && before && after && *before == *after) {
    print_text(stderr,
               fmt::format("joulescale recover: '{}' was finished before: nothing to recover\n",
                           directory.native()));
  }
  return show(run, directory);
}

int run(const RecoverArguments& arguments) {
  if (!arguments.output.empty()) {
    return show(recover_merged(arguments.directories, arguments.output), arguments.output);
  }
  int status = 0;
  for (const auto& directory : arguments.directories) {
    status = std::max(status, recover(directory));
  }
  return status;
}

}  // namespace

void add_recover_command(CLI::App& app, Invocation& invocation) {
  const auto arguments = std::make_shared<RecoverArguments>();
  auto* const command =
      app.add_subcommand("recover", "Finish the run records of monitors that were killed");
  command->add_option("directories", arguments->directories, "Run directories")
      ->required()
      ->type_name("DIR...");
  command
      ->add_option("-o,--output",
                   arguments->output,
                   "Merge the directories, which hold nodes of one launch, into this new one")
      ->type_name("DIR");
  command->footer("Example: joulescale recover joulescale-runs/train");
  command->callback([arguments, &invocation] { invocation.exit_status = run(*arguments); });
}

}  // namespace joulescale
