// SPDX-License-Identifier: Apache-2.0
// joulescale launch: the ranks of a data-parallel program on this machine.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "joulescale/base/output.h"
#include "joulescale/monitor/marks/mark_writer.h"
#include "joulescale/sweep/local/rank_launcher.h"

#include "apps/joulescale/commands/commands.h"

namespace joulescale {
namespace {

/// A measured run counts the ranks, whatever program they run.
void register_ranks(int num_ranks) {
  for (int rank = 0; rank < num_ranks; ++rank) {
    MarkWriter marks = MarkWriter::from_environment();
    marks.register_rank(rank, num_ranks, "cpu_rank", "");
  }
}

}  // namespace

void add_launch_command(CLI::App& app, Invocation& invocation) {
  auto* const command =
      app.add_subcommand("launch", "Start the ranks of a program on this machine");
  const auto launch = std::make_shared<RankLaunch>();
  command->add_option("--ranks", launch->num_ranks, "Number of ranks")
      ->required()
      ->check(CLI::Range(1, 4096));
  command
      ->add_option(
          "--master-port", launch->master_port, "Port of the rendezvous; default: a free one")
      ->check(CLI::Range(1, 65535));
  command
      ->add_flag("--pass-listen-fd",
                 launch->pass_listen_fd,
                 "Give rank 0 the listening socket as --store-listen-fd")
      ->group("");
  command
      ->add_flag("--end-with-parent", launch->end_with_parent, "End when the parent process dies")
      ->group("");
  take_command(*command);
  command->footer(
      "Example: two ranks of a program that reads torchrun's variables\n"
      "  joulescale launch --ranks 2 -- python train.py --epochs 1");
  command->callback([launch, command, &invocation] {
    launch->argv = taken_command(*command, invocation);
    if (launch->argv.empty()) {
      print_text(stderr, "joulescale launch: no program given; write it after --\n");
      invocation.exit_status = 2;
      return;
    }
    register_ranks(launch->num_ranks);
    invocation.exit_status = launch_ranks(*launch);
  });
}

}  // namespace joulescale
