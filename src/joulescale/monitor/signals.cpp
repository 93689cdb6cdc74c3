// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/signals.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace joulescale {
namespace {

constexpr std::array kEndingSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

}  // namespace

sigset_t forwardable_signals() {
  sigset_t set;
  ::sigfillset(&set);
  for (const int signal : {SIGKILL,
                           SIGSTOP,
                           SIGCHLD,
                           SIGSEGV,
                           SIGBUS,
                           SIGFPE,
                           SIGILL,
                           SIGTRAP,
                           SIGSYS,
                           SIGTTIN,
                           SIGTTOU}) {
    ::sigdelset(&set, signal);
  }
  return set;
}

SignalState take_signals() {
  SignalState state;
  sigset_t taken = forwardable_signals();
  ::sigaddset(&taken, SIGCHLD);
  struct sigaction by_default{};
  by_default.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &by_default, &state.child);
  ::pthread_sigmask(SIG_BLOCK, &taken, &state.mask);
  return state;
}

void restore_signals(const SignalState& state) noexcept {
  ::sigaction(SIGCHLD, &state.child, nullptr);
  ::pthread_sigmask(SIG_SETMASK, &state.mask, nullptr);
}

bool asks_to_end(int signal) {
  if (std::ranges::find(kEndingSignals, signal) == kEndingSignals.end()) {
    return false;
  }
  struct sigaction action{};  // an ignored signal that is blocked comes all the same
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN;
}

bool is_end_pending() {
  sigset_t pending;
  ::sigpending(&pending);
  return std::ranges::any_of(kEndingSignals, [&pending](int signal) {
    return ::sigismember(&pending, signal) == 1 && asks_to_end(signal);
  });
}

int die_by_signal(int signal) {
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::prctl(PR_SET_DUMPABLE, 0);
  struct sigaction by_default{};
  by_default.sa_handler = SIG_DFL;
  ::sigaction(signal, &by_default, nullptr);
  sigset_t only;
  ::sigemptyset(&only);
  ::sigaddset(&only, signal);
  ::kill(::getpid(), signal);
  ::pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  return 128 + signal;
}

}  // namespace joulescale
