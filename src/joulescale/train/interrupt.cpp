// SPDX-License-Identifier: Apache-2.0
#include "joulescale/train/interrupt.h"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <initializer_list>

namespace joulescale {
namespace {

constexpr int kInterruptedStatus = 130;
constexpr unsigned kGraceSeconds = 5;

volatile std::sig_atomic_t received_signal = 0;

// Only async-signal-safe calls from here on (signal-safety(7)).
[[noreturn]] void end_now(int signal_number) {
  if (signal_number == SIGINT) {
    ::_exit(kInterruptedStatus);
  }
  ::signal(signal_number, SIG_DFL);
  ::raise(signal_number);
  ::_exit(128 + signal_number);
}

void handle_signal(int signal_number) {
  if (signal_number == SIGALRM || received_signal != 0) {  // time is up, or asked twice
    end_now(received_signal != 0 ? static_cast<int>(received_signal) : signal_number);
  }
  received_signal = signal_number;
  ::alarm(kGraceSeconds);
}

}  // namespace

void install_interrupt_handlers() {
  struct sigaction action{};
  action.sa_handler = handle_signal;
  action.sa_flags = SA_RESTART;
  for (const int signal_number : {SIGINT, SIGTERM, SIGALRM}) {
    ::sigaction(signal_number, &action, nullptr);
  }
}

int interrupt_signal() { return static_cast<int>(received_signal); }

void exit_by_interrupt(int signal_number) {
  std::fflush(nullptr);
  sigset_t unblocked;
  sigemptyset(&unblocked);
  sigaddset(&unblocked, signal_number);
  ::sigprocmask(SIG_UNBLOCK, &unblocked, nullptr);
  end_now(signal_number);
}

}  // namespace joulescale
