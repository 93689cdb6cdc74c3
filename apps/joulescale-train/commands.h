// SPDX-License-Identifier: Apache-2.0
// The commands of joulescale-train. Each add_…() declares options; when the user chose the command,
// CLI11 runs it during parsing and it stores the program's exit status.
#pragma once

#include <string_view>

namespace CLI {
class App;
}

namespace joulescale {

/// Training itself, which needs no command's name, and `check`.
void add_training(CLI::App& app, int& exit_status);
void add_probe_command(CLI::App& app, int& exit_status);

/// One line on stderr.
void print_error(std::string_view text);

}  // namespace joulescale
