// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/signal_relay.h"

#include <unistd.h>

#include <algorithm>

namespace joulescale {
namespace {

/// A launcher that signals the processes of a group one by one is done within this time.
constexpr Nanoseconds kBroadcastWindow = std::chrono::milliseconds(20);
constexpr Nanoseconds kWitnessPatience = std::chrono::milliseconds(500);

}  // namespace

void SignalRelay::set_command(pid_t pid, Nanoseconds started) {
  command_ = pid;
  command_started_ = started;
}

void SignalRelay::take(const siginfo_t& info, Nanoseconds not_before) {
  if (info.si_pid == ::getpid() && info.si_code <= 0) {
    return;  // our own: SIGPIPE of a closed standard error, SIGXFSZ of a full file
  }
  pending_.push_back(
      {info.si_signo, info.si_code == SI_QUEUE, info.si_value, not_before, clock_.monotonic_now()});
}

std::optional<Nanoseconds> SignalRelay::next_deadline() const {
  if (pending_.empty()) {
    return std::nullopt;
  }
  return pending_.front().time + kBroadcastWindow;
}

void SignalRelay::relay_due() {
  const Nanoseconds now = clock_.monotonic_now();
  if (pending_.empty() || now < pending_.front().time + kBroadcastWindow) {
    return;
  }
  witness_.catch_up(kWitnessPatience);
  if (outside_) {
    outside_->catch_up(kWitnessPatience);
  }
  std::erase_if(pending_, [&](const Pending& pending) {
    if (now < pending.time + kBroadcastWindow) {
      return false;
    }
    if (!reached_command(pending)) {
      send(pending);
    }
    return true;
  });
}

bool SignalRelay::command_left_group() const {
  const pid_t group = command_ > 0 ? ::getpgid(command_) : -1;
  return group > 0 && group != ::getpgrp();
}

/// Whether it was sent to the command too.
bool SignalRelay::reached_command(const Pending& pending) {
  // A witness may have been late; a report of the same signal within its patience is the same
  // broadcast.
  const auto saw = [&](Witness& witness) {
    return witness.saw(pending.signal,
                       pending.not_before - kWitnessPatience,
                       pending.time + kWitnessPatience,
                       command_started_);
  };
  const bool group_has_it = saw(witness_);
  const bool all_have_it = outside_ && saw(*outside_);
  return command_left_group() ? all_have_it : group_has_it;
}

void SignalRelay::watch_group() {
  if (!outside_ && command_left_group()) {
    outside_.emplace(Witness::Group::kItsOwn);
  }
}

bool SignalRelay::took_note_of(pid_t child, int wait_status) {
  return witness_.took_note_of(child, wait_status) ||
         (outside_ && outside_->took_note_of(child, wait_status));
}

void SignalRelay::send(const Pending& pending) const {
  if (command_ <= 0) {
    return;
  }
  if (pending.has_value) {
    ::sigqueue(command_, pending.signal, pending.value);
  } else {
    ::kill(command_, pending.signal);
  }
}

}  // namespace joulescale
