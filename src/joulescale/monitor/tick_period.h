// SPDX-License-Identifier: Apache-2.0
// How often a counter moves, learned from the readings that show its moves: those made close
// together (at the start of the sampling, and for the last tick) tell it, the others do no harm.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "joulescale/base/clock.h"

namespace joulescale {

/// Small and copyable: part of a counter account's state.
class TickPeriod {
 public:
  TickPeriod() = default;
  /// Goes on with what another one has learned; the next move follows none.
  TickPeriod(std::optional<Nanoseconds> at_most, std::optional<Nanoseconds> mean)
      : at_most_(at_most), mean_(mean) {}

  /// The next move: after the reading at `not_before`, before the one at `seen`. `rested`: some
  /// reading since the move before showed none, so no move in between was overlooked.
  void add_move(Nanoseconds not_before, Nanoseconds seen, bool rested);
  /// The next move does not follow the last one (a reset).
  void interrupt() { count_ = 0; }

  /// Mean of two successive periods at most, where they were seen best; nothing before three moves.
  std::optional<Nanoseconds> at_most() const { return at_most_; }
  /// The best estimate of it; nothing where moves may have been overlooked.
  std::optional<Nanoseconds> mean() const { return mean_; }

 private:
  struct Move {
    Nanoseconds not_before{0};
    Nanoseconds seen{0};
    bool rested = false;
  };

  std::array<Move, 3> moves_;  // the last ones
  std::size_t count_ = 0;
  std::optional<Nanoseconds> at_most_;
  std::optional<Nanoseconds> mean_;
};

}  // namespace joulescale
