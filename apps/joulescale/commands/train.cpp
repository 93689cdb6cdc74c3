// SPDX-License-Identifier: Apache-2.0
// joulescale train: a monitor around the local ranks of joulescale-train.
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "joulescale/base/file.h"
#include "joulescale/base/output.h"
#include "joulescale/sweep/workload_check.h"

#include "apps/joulescale/commands/commands.h"

namespace joulescale {
namespace {

struct MonitorOption {
  const char* name;
  const char* help;
};

/// Options that go to the monitor as they are.
constexpr std::array kMonitorOptions = {
    MonitorOption{"--output", "Run directory to make"},
    MonitorOption{"--study", "Study record of a sweep (JSON)"},
    MonitorOption{"--rate", "Samples a second (Hz)"},
    MonitorOption{"--baseline", "Measure the idle node for so long before, 1s to 1h"},
    MonitorOption{"--root", "Directory that stands for / for file-based sources"},
    MonitorOption{"--nvml-library", "Library in place of libnvidia-ml.so.1"},
    MonitorOption{"--cpu-thread-watts", "Estimate of a busy hardware thread's power, W"},
    MonitorOption{"--ram-watts", "Estimate of all memory's power, W"}};

struct TrainOptions {
  std::int64_t ranks = 1;
  std::vector<std::pair<std::string, std::string>> monitor;  // option and value
  bool quiet = false;
  std::string master_port;
};

/// joulescale monitor [options] -- joulescale launch [options] -- joulescale-train [options]
std::vector<std::string> build_command(const TrainOptions& options,
                                       const std::string& program,
                                       const std::string& trainer,
                                       const std::vector<std::string>& trainer_options) {
  std::vector<std::string> argv = {program, "monitor"};
  for (const auto& [name, value] : options.monitor) {
    if (!value.empty()) {
      argv.push_back(fmt::format("{}={}", name, value));
    }
  }
  if (options.quiet) {
    argv.emplace_back("--quiet");
  }
  argv.insert(argv.end(),
              {"--",
               program,
               "launch",
               fmt::format("--ranks={}", options.ranks),
               "--pass-listen-fd",
               "--end-with-parent"});
  if (!options.master_port.empty()) {
    argv.push_back("--master-port=" + options.master_port);
  }
  argv.emplace_back("--");
  argv.push_back(trainer);
  argv.insert(argv.end(), trainer_options.begin(), trainer_options.end());
  return argv;
}

/// Does not return when all is well: this process becomes the monitor.
Result<void> train(const TrainOptions& options, const std::vector<std::string>& trainer_options) {
  JOULESCALE_TRY_ASSIGN(const std::filesystem::path program, own_program());
  JOULESCALE_TRY_ASSIGN(const std::filesystem::path trainer, find_trainer());
  JOULESCALE_TRY(check_trainer_options(trainer, trainer_options, options.ranks, ""));
  auto argv = build_command(options, program.native(), trainer.native(), trainer_options);
  std::vector<char*> pointers;
  pointers.reserve(argv.size() + 1);
  for (std::string& argument : argv) {
    pointers.push_back(argument.data());
  }
  pointers.push_back(nullptr);
  ::execv(program.c_str(), pointers.data());
  return io_error("start", program.native(), errno);
}

}  // namespace

void add_train_command(CLI::App& app, Invocation& invocation) {
  auto* const command =
      app.add_subcommand("train", "Train on N local ranks of joulescale-train, measured");
  const auto options = std::make_shared<TrainOptions>();
  command->add_option("--ranks", options->ranks, "Number of ranks")->check(CLI::Range(1, 4096));
  for (const MonitorOption& option : kMonitorOptions) {
    options->monitor.emplace_back(option.name, "");
  }
  for (std::size_t i = 0; i < kMonitorOptions.size(); ++i) {
    command->add_option(
        kMonitorOptions[i].name, options->monitor[i].second, kMonitorOptions[i].help);
  }
  command->add_option("--master-port", options->master_port, "Port of the rendezvous")
      ->check(CLI::Range(1, 65535));
  command->add_flag("--quiet", options->quiet, "No summary at the end");
  command->allow_extras();
  command->footer(
      "All other options go to joulescale-train (see joulescale-train --help).\n"
      "Example: ResNet-8 on two ranks\n"
      "  joulescale train --ranks 2 --output run --model resnet8 --dataset fashion-mnist "
      "--local-batch-size 64");
  command->callback([command, options, &invocation] {
    const auto result = train(*options, command->remaining());
    if (!result) {
      print_text(stderr, fmt::format("joulescale train: {}\n", result.error().text()));
      invocation.exit_status = 2;
    }
  });
}

}  // namespace joulescale
