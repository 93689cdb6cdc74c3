// SPDX-License-Identifier: Apache-2.0
// An energy counter against the power beside it: neither is trusted blindly.
#pragma once

#include <optional>

#include "joulescale/monitor/counter_account.h"

namespace joulescale {

/// By how much the energies of two channels differ, in either direction.
Joules difference(const WindowEnergy& a, const WindowEnergy& b);

/// Whether the two differ by more than 5 % of the counter and more than their uncertainties
/// explain.
bool disagree(const WindowEnergy& counter, const WindowEnergy& power);

/// Whether the power shows that the counter does not count the device's energy, so that the power's
/// integral must stand in. `counted`: the counter's energy in the window, if it gave one. Judged
/// only in windows of 3 s or more (docs/measurement-method.md, Energy counters).
bool is_unsupported(const CounterAccount& counter,
                    const std::optional<WindowEnergy>& counted,
                    const WindowEnergy& power,
                    Nanoseconds duration);

}  // namespace joulescale
