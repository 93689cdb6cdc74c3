// SPDX-License-Identifier: Apache-2.0
// The signals that the monitor passes on to its command, and how they are taken: blocked in every
// thread and fetched by one, so that no handler ever runs.
#pragma once

#include <signal.h>

#include "joulescale/base/clock.h"

namespace joulescale {

/// All signals that can be caught and that somebody may send to a command on purpose. Not among
/// them: SIGCHLD, faults of our own (SIGSEGV...), and the terminal's SIGTTIN and SIGTTOU.
sigset_t forwardable_signals();

/// The calling thread's signal state as the program was started with, to be given to the command.
struct SignalState {
  sigset_t mask{};
  struct sigaction child{};  // of SIGCHLD
};

/// Blocks forwardable_signals() and SIGCHLD in this thread and those it starts, and gives SIGCHLD
/// its default action. Call it before any thread is started.
SignalState take_signals();
/// Undoes take_signals() in a child, before exec. Async-signal-safe.
void restore_signals(const SignalState& state) noexcept;

/// Whether it asks a program to end; not where whoever started us had it ignored (nohup, a shell's
/// background job).
bool asks_to_end(int signal);
/// Whether such a signal waits to be taken.
bool is_end_pending();

/// Ends this process by the signal, without a core dump; returns 128 + signal where that does not
/// work (the first process of a container).
int die_by_signal(int signal);

}  // namespace joulescale
