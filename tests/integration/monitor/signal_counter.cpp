// SPDX-License-Identifier: Apache-2.0
// A command that counts the signals it gets: signal_counter SECONDS STATUS SIGNAL... catches the
// given signals, says "ready", one line "got SIGNAL" for each as it comes (not more than the kernel
// delivers: none is queued twice), and after SECONDS "end"; with SECONDS negative the first SIGTERM
// ends it, after that many seconds of tidying up. Its exit status is STATUS.
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

volatile sig_atomic_t terminated = 0;

/// Async-signal-safe: one write a line.
void say(const char* text) {
  if (::write(STDOUT_FILENO, text, std::strlen(text)) < 0) {
    ::_exit(3);
  }
}

void count(int signal) {
  char line[] = "got 00\n";
  line[4] = static_cast<char>('0' + signal / 10);
  line[5] = static_cast<char>('0' + signal % 10);
  say(line);
  if (signal == SIGTERM) {
    terminated = 1;
  }
}

timespec after(double seconds) {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  time.tv_sec += static_cast<time_t>(seconds);
  time.tv_nsec += static_cast<long>((seconds - std::floor(seconds)) * 1e9);
  if (time.tv_nsec >= 1'000'000'000) {
    time.tv_nsec -= 1'000'000'000;
    ++time.tv_sec;
  }
  return time;
}

void sleep_for(double seconds) {
  const timespec until = after(seconds);
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    return 2;
  }
  for (int i = 3; i < argc; ++i) {
    struct sigaction action{};
    action.sa_handler = count;
    action.sa_flags = SA_RESTART;
    sigfillset(&action.sa_mask);
    if (::sigaction(std::atoi(argv[i]), &action, nullptr) != 0) {
      return 2;
    }
  }
  say("ready\n");
  const double seconds = std::atof(argv[1]);
  if (seconds >= 0.0) {
    sleep_for(seconds);
  } else {
    sigset_t term;
    sigset_t before;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    ::sigprocmask(SIG_BLOCK, &term, &before);
    while (terminated == 0) {
      ::sigsuspend(&before);
    }
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    sleep_for(-seconds);
  }
  say("end\n");
  return std::atoi(argv[2]);
}
