// SPDX-License-Identifier: Apache-2.0
// joulescale-train: trains a network as one rank of a data-parallel run.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "joulescale/base/output.h"

#include "apps/joulescale-train/commands.h"
#include "apps/usage_error.h"

namespace joulescale {
namespace {

int run(int argc, char** argv) {
  CLI::App app(
      "Trains a network as one rank of a data-parallel run (ranks: RANK, WORLD_SIZE, MASTER_ADDR, "
      "MASTER_PORT, as torchrun sets them, or Open MPI's or Slurm's variables; without any, one "
      "rank).",
      "joulescale-train");
  app.footer(
      "Example:\n  joulescale-train --model resnet8 --dataset fashion-mnist --train-samples 20000 "
      "--local-batch-size 64");
  app.set_version_flag("--version", "joulescale-train " JOULESCALE_VERSION);
  app.require_subcommand(0, 1);
  // As in most programs, an option given again replaces the earlier one: scripts append theirs.
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  int exit_status = 0;
  add_training(app, exit_status);
  add_probe_command(app, exit_status);
  const std::vector<std::string> arguments(argv + 1, argv + std::max(argc, 1));
  if (const std::string empty = empty_option(arguments); !empty.empty()) {
    print_error(empty);
    return 2;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help and --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    print_error(usage_error(app, error));
    return 2;
  }
  return exit_status;
}

}  // namespace

void print_error(std::string_view text) {
  std::string line(text);
  for (char& c : line) {
    if (c == '\n') {
      c = ' ';
    }
  }
  print_text(stderr, fmt::format("joulescale-train: {}\n", line));
}

}  // namespace joulescale

int main(int argc, char** argv) {
  // Torch reports on stderr what it also throws; the program prints its own line for it.
  ::setenv("TORCH_CPP_LOG_LEVEL", "FATAL", /*overwrite=*/0);
  // A log that nobody reads any more must not end a training.
  ::signal(SIGPIPE, SIG_IGN);
  joulescale::keep_standard_streams();
  const int status = joulescale::run(argc, argv);
  std::fflush(nullptr);
  // Threads of torch may still wait for a rank that is gone: do not wait for them.
  std::_Exit(status);
}
