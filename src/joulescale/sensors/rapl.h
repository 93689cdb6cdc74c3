// SPDX-License-Identifier: Apache-2.0
// What holds for RAPL's counters by whichever way they are read: they are the same silicon.
#pragma once

#include <chrono>
#include <string_view>

#include "joulescale/base/units.h"
#include "joulescale/sensors/sensor.h"

namespace joulescale {

/// Nothing above is believed where no limit of the package, or of the whole platform, is known.
inline constexpr Watts kRaplPlausiblePower{2000.0};
inline constexpr Watts kRaplPlatformPlausiblePower{20000.0};
/// The counters move about once in a millisecond.
inline constexpr TickWatch kRaplTickWatch = {std::chrono::microseconds(500),
                                             std::chrono::milliseconds(60)};
inline constexpr std::string_view kRaplAccuracy = "unknown: Intel and AMD state none";

/// Of a channel of the domain, in watts.
constexpr Watts rapl_plausible_power(Domain domain) {
  return domain == Domain::kPlatform ? kRaplPlatformPlausiblePower : kRaplPlausiblePower;
}
/// Whether the domain lies inside its package, and so shares its joules.
constexpr bool is_inside_package(Domain domain) {
  return domain == Domain::kCpuCore || domain == Domain::kCpuUncore;
}

}  // namespace joulescale
