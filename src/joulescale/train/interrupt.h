// SPDX-License-Identifier: Apache-2.0
// SIGINT and SIGTERM: the training loop ends after the update at hand; a process that is stuck
// (in a collective, in a long step) ends by itself a few seconds later.
#pragma once

namespace joulescale {

/// Takes over SIGINT, SIGTERM and SIGALRM of this process.
void install_interrupt_handlers();

/// The signal that asked for the end, or 0.
int interrupt_signal();

/// Ends the process as the signal demands: status 130 for SIGINT, else by the signal itself.
[[noreturn]] void exit_by_interrupt(int signal_number);

}  // namespace joulescale
