// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/counter_check.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace joulescale {
namespace {

/// Counter and integrated power that differ by more than this share (and more than their
/// uncertainties explain) disagree.
constexpr double kDisagreementShare = 0.05;
/// A counter is suspect if it rests for so long while its GPU takes power, or falls back so often.
constexpr Nanoseconds kLongestRest = std::chrono::seconds(3);
constexpr std::uint64_t kManyResets = 3;
/// Over runs of at least the same length a counter off by this factor does not count energy.
constexpr double kImplausibleFactor = 3.0;
constexpr Joules kLeastEnergyJudged{1.0};

}  // namespace

Joules difference(const WindowEnergy& a, const WindowEnergy& b) {
  return Joules(std::abs((a.energy - b.energy).value()));
}

bool disagree(const WindowEnergy& counter, const WindowEnergy& power) {
  const Joules apart = difference(counter, power);
  return apart > kDisagreementShare * counter.energy &&
         apart > counter.uncertainty + power.uncertainty;
}

bool is_unsupported(const CounterAccount& counter,
                    const std::optional<WindowEnergy>& counted,
                    const WindowEnergy& power,
                    Nanoseconds duration) {
  if (duration < kLongestRest || power.energy - power.uncertainty < kLeastEnergyJudged) {
    return false;
  }
  const ChannelEvents& events = counter.events();
  const bool suspect =
      counter.longest_rest() >= kLongestRest || events.resets >= kManyResets || events.samples == 0;
  if (!counted) {
    return suspect;
  }
  if (suspect) {
    return difference(*counted, power) >
           std::max(kDisagreementShare * power.energy, power.uncertainty);
  }
  const double ratio = counted->energy / power.energy;
  return disagree(*counted, power) &&
         (ratio > kImplausibleFactor || ratio < 1.0 / kImplausibleFactor);
}

}  // namespace joulescale
