// SPDX-License-Identifier: Apache-2.0
// The commands of joulescale. add_<name>_command() declares a command's options on the app; when
// the user chose it, CLI11 runs it during parsing and it stores the program's exit status.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace joulescale {

struct Invocation {
  /// What the user wrote behind "--" for monitor and launch: not joulescale's to parse.
  std::vector<std::string> behind_marker;
  int exit_status = 0;
};

/// Has `app`, monitor or launch, take a command after its own options. From its first word on
/// nothing is joulescale's to parse, with or without "--" before it.
void take_command(CLI::App& app);
/// That command, in the callback of `app`. Throws CLI::ExtrasError for an unknown option.
std::vector<std::string> taken_command(const CLI::App& app, const Invocation& invocation);

using AddCommand = void (*)(CLI::App& app, Invocation& invocation);

void add_analyze_command(CLI::App& app, Invocation& invocation);
void add_export_command(CLI::App& app, Invocation& invocation);
void add_launch_command(CLI::App& app, Invocation& invocation);
void add_monitor_command(CLI::App& app, Invocation& invocation);
void add_sensors_command(CLI::App& app, Invocation& invocation);
void add_recover_command(CLI::App& app, Invocation& invocation);
void add_report_command(CLI::App& app, Invocation& invocation);
void add_sweep_command(CLI::App& app, Invocation& invocation);
void add_train_command(CLI::App& app, Invocation& invocation);

inline constexpr std::array kCommands = {
    AddCommand{add_sensors_command},
    AddCommand{add_monitor_command},
    AddCommand{add_recover_command},
    AddCommand{add_export_command},
    AddCommand{add_train_command},
    AddCommand{add_sweep_command},
    AddCommand{add_report_command},
    AddCommand{add_analyze_command},
    AddCommand{add_launch_command},
};

}  // namespace joulescale
