// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them: rounded by their own uncertainty, '.' in every locale, "-" for what
// is missing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "joulescale/analysis/statistics.h"

namespace joulescale {

inline constexpr std::string_view kMissing = "-";

/// `significant` digits, never in exponent form between 1e-4 and 1e15, no needless digits before
/// the point rounded away: 12345.6 -> "12346", 0.0123456 -> "0.01235" for 4 digits.
std::string format_rounded(double value, int significant = 4);

/// "12.34 ± 0.05": the spread with two significant digits, the mean to the same decimals. Without a
/// spread the mean alone, with `significant` digits.
std::string format_mean_and_sd(const Summary& summary, int significant = 4);

/// A fitted coefficient or r2: six decimals, six significant digits below 0.001.
std::string format_coefficient(double value);

}  // namespace joulescale
