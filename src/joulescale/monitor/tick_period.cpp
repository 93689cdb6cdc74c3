// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/tick_period.h"

#include <algorithm>

namespace joulescale {

void TickPeriod::add_move(Nanoseconds not_before, Nanoseconds seen, bool rested) {
  std::ranges::rotate(moves_, moves_.begin() + 1);
  moves_.back() = {not_before, seen, rested};
  if (++count_ < moves_.size()) {
    return;
  }
  const Nanoseconds most = (seen - moves_.front().not_before) / 2;
  if (at_most_ && most >= *at_most_) {
    return;
  }
  at_most_ = most;
  mean_.reset();
  if (moves_[1].rested && moves_[2].rested) {
    mean_ = (seen - moves_.front().seen) / 2;
  }
}

}  // namespace joulescale
