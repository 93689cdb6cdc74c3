// SPDX-License-Identifier: Apache-2.0
// joulescale: every command but training itself. Each command lives in commands/<name>.cpp.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "joulescale/base/output.h"

#include "apps/joulescale/commands/commands.h"
#include "apps/usage_error.h"

namespace joulescale {
namespace {

/// The arguments after the program's name; for monitor and launch what stands behind "--" goes into
/// `invocation` instead.
std::vector<std::string> own_arguments(int argc, char** argv, Invocation& invocation) {
  std::vector<std::string> arguments(argv + 1, argv + std::max(argc, 1));
  const bool takes_command =
      !arguments.empty() && (arguments.front() == "monitor" || arguments.front() == "launch");
  const auto marker = std::ranges::find(arguments, "--");
  if (takes_command && marker != arguments.end()) {
    invocation.command.assign(marker + 1, arguments.end());
    arguments.erase(marker, arguments.end());
  }
  return arguments;
}

int run(int argc, char** argv) {
  CLI::App app("Measures, compares and predicts the energy of parallel neural-network training.",
               "joulescale");
  app.set_version_flag("--version", "joulescale " JOULESCALE_VERSION);
  app.require_subcommand(1);
  Invocation invocation;
  for (const AddCommand add_command : kCommands) {
    add_command(app, invocation);
  }
  std::vector<std::string> arguments = own_arguments(argc, argv, invocation);
  if (const std::string empty = empty_option(arguments); !empty.empty()) {
    print_text(stderr, fmt::format("joulescale: {}\n", empty));
    return 2;
  }
  std::ranges::reverse(arguments);  // as CLI11 takes them
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::Success& success) {  // --help and --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    print_text(stderr, fmt::format("joulescale: {}\n", usage_error(app, error)));
    return 2;
  }
  if (std::ferror(stdout) != 0 && invocation.exit_status == 0) {
    print_text(stderr, "joulescale: standard output took not all of the result\n");
    return 1;
  }
  return invocation.exit_status;
}

}  // namespace
}  // namespace joulescale

int main(int argc, char** argv) {
  joulescale::keep_standard_streams();
  try {
    return joulescale::run(argc, argv);
  } catch (const std::exception& error) {  // no memory, no threads
    joulescale::print_text(stderr, fmt::format("joulescale: {}\n", error.what()));
    return 1;
  }
}
