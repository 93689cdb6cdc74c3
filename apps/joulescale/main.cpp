// SPDX-License-Identifier: Apache-2.0
// joulescale: every command but training itself. Each command lives in commands/<name>.cpp.
#include <cstdio>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "apps/joulescale/commands/commands.h"

int main(int argc, char** argv) {
  CLI::App app("Measures, compares and predicts the energy of parallel neural-network training.",
               "joulescale");
  app.set_version_flag("--version", "joulescale " JOULESCALE_VERSION);
  app.require_subcommand(1);
  int exit_status = 0;
  for (const auto add_command : joulescale::kCommands) {
    add_command(app, exit_status);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help and --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "joulescale: {}; see joulescale --help\n", error.what());
    return 2;
  }
  return exit_status;
}
