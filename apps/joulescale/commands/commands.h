// SPDX-License-Identifier: Apache-2.0
// The commands of joulescale. add_<name>_command() declares a command's options on the app; when
// the user chose it, CLI11 runs it during parsing and it stores the program's exit status.
#pragma once

#include <array>

namespace CLI {
class App;
}

namespace joulescale {

using AddCommand = void (*)(CLI::App& app, int& exit_status);

void add_analyze_command(CLI::App& app, int& exit_status);
void add_launch_command(CLI::App& app, int& exit_status);
void add_monitor_command(CLI::App& app, int& exit_status);
void add_sensors_command(CLI::App& app, int& exit_status);
void add_report_command(CLI::App& app, int& exit_status);
void add_sweep_command(CLI::App& app, int& exit_status);
void add_train_command(CLI::App& app, int& exit_status);

inline constexpr std::array kCommands = {
    AddCommand{add_sensors_command},
    AddCommand{add_monitor_command},
    AddCommand{add_train_command},
    AddCommand{add_sweep_command},
    AddCommand{add_report_command},
    AddCommand{add_analyze_command},
    AddCommand{add_launch_command},
};

}  // namespace joulescale
