// SPDX-License-Identifier: Apache-2.0
// joulescale export: the timeline of a run for other programs.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "joulescale/base/file.h"
#include "joulescale/base/output.h"
#include "joulescale/base/unique_fd.h"
#include "joulescale/monitor/csv_export.h"

#include "apps/joulescale/commands/commands.h"
#include "apps/validators.h"

namespace joulescale {
namespace {

constexpr const char* kExportExample =
    "Example: joulescale export joulescale-runs/train --output timeline.csv\n"
    "One row a value that was read, with its time, node and channel; docs/formats.md has the "
    "columns.";

struct ExportArguments {
  std::filesystem::path directory;
  std::string format = "csv";
  std::string output = "-";
};

Result<std::vector<std::string>> run_export(const ExportArguments& arguments) {
  if (arguments.output == "-") {
    return export_csv(arguments.directory, [](std::string_view text) {
      return write_all(STDOUT_FILENO, text, "standard output");
    });
  }
  UniqueFd file;
  return export_csv(arguments.directory, [&](std::string_view text) -> Result<void> {
    if (!file.valid()) {  // only now: the run can be read
      file.reset(::open(
          arguments.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0644));
      if (!file.valid()) {
        return Error(ErrorCode::kInvalidArgument,
                     "--output: " + io_error("write", arguments.output, errno).text());
      }
    }
    return write_all(file.get(), text, arguments.output);
  });
}

}  // namespace

void add_export_command(CLI::App& app, Invocation& invocation) {
  auto arguments = std::make_shared<ExportArguments>();
  CLI::App* command = app.add_subcommand("export", "A run's timeline as CSV");
  command->footer(kExportExample);
  command->add_option("directory", arguments->directory, "Run directory")
      ->required()
      ->type_name("DIR");
  command->add_option("--format", arguments->format, "How to write it")
      ->check(one_of({"csv"}))
      ->capture_default_str();
  command->add_option("-o,--output", arguments->output, "File to write; - is standard output")
      ->capture_default_str()
      ->type_name("FILE");
  command->callback([arguments, &invocation] {
    const auto notes = run_export(*arguments);
    if (!notes) {
      print_text(stderr, fmt::format("joulescale export: {}\n", notes.error().text()));
      invocation.exit_status = exit_status_of(notes.error());
      return;
    }
    for (const std::string& line : *notes) {
      print_text(stderr, fmt::format("joulescale export: {}\n", line));
    }
  });
}

}  // namespace joulescale
