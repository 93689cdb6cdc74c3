// SPDX-License-Identifier: Apache-2.0
// joulescale: every command but training itself. Each command lives in commands/<name>.cpp.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>
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

struct Arguments {
  std::vector<std::string> own;  // after the program's name
  bool end_in_command = false;   // one that has no "--" before it
};

/// For monitor and launch what stands behind "--" goes into `invocation` instead. "help monitor" is
/// "monitor --help".
Arguments own_arguments(int argc, char** argv, Invocation& invocation) {
  Arguments arguments{{argv + 1, argv + std::max(argc, 1)}};
  std::vector<std::string>& own = arguments.own;
  if (!own.empty() && own.front() == "help") {
    own.erase(own.begin());
    own.emplace_back("--help");
    return arguments;
  }
  const bool takes_command = !own.empty() && (own.front() == "monitor" || own.front() == "launch");
  const auto marker = std::ranges::find(own, "--");
  arguments.end_in_command = takes_command && marker == own.end();
  if (takes_command && marker != own.end()) {
    invocation.behind_marker.assign(marker + 1, own.end());
    own.erase(marker, own.end());
  }
  return arguments;
}

int output_is_cut() {
  print_text(stderr, "joulescale: standard output took not all of the result\n");
  return 1;
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
  Arguments arguments = own_arguments(argc, argv, invocation);
  if (const std::string empty = empty_option(arguments.own);
      !empty.empty() && !arguments.end_in_command) {
    print_text(stderr, fmt::format("joulescale: {}\n", empty));
    return 2;
  }
  std::ranges::reverse(arguments.own);  // as CLI11 takes them
  try {
    app.parse(std::move(arguments.own));
  } catch (const CLI::Success& success) {  // --help and --version
    app.exit(success);
    return std::cout.flush() ? 0 : output_is_cut();
  } catch (const CLI::ParseError& error) {
    print_text(stderr, fmt::format("joulescale: {}\n", usage_error(app, error)));
    return 2;
  }
  if (std::ferror(stdout) != 0 && invocation.exit_status == 0) {
    return output_is_cut();
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
