// SPDX-License-Identifier: Apache-2.0
// The command line of the user's own program, for monitor and launch.
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "apps/joulescale/commands/commands.h"

namespace joulescale {

void take_command(CLI::App& app) { app.prefix_command(); }

std::vector<std::string> taken_command(const CLI::App& app, const Invocation& invocation) {
  std::vector<std::string> command = app.remaining();
  if (command.empty()) {
    return invocation.behind_marker;
  }
  if (command.front().starts_with('-')) {
    throw CLI::ExtrasError(app.get_name(), {command.front()});
  }
  if (!invocation.behind_marker.empty()) {  // the command's own "--"
    command.emplace_back("--");
    command.insert(command.end(), invocation.behind_marker.begin(), invocation.behind_marker.end());
  }
  return command;
}

}  // namespace joulescale
