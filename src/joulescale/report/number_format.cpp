// SPDX-License-Identifier: Apache-2.0
#include "joulescale/report/number_format.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace joulescale {
namespace {

constexpr std::string_view kPlusMinus = " \xC2\xB1 ";

/// Decimals that show `significant` digits of `value` after rounding; negative for large values.
int decimals_for(double value, int significant) {
  const std::string text = fmt::format("{:.{}e}", std::abs(value), significant - 1);
  const int exponent = std::stoi(text.substr(text.find('e') + 1));
  return significant - 1 - exponent;
}

std::string fixed(double value, int decimals) {
  std::string text = fmt::format("{:.{}f}", value, std::clamp(decimals, 0, 17));
  const bool is_zero = text.find_first_not_of("-0.") == std::string::npos;
  return is_zero && text.front() == '-' ? text.substr(1) : text;
}

/// fixed(), and with negative `decimals` rounded before the point: (1188119, -3) -> "1188000".
std::string fixed_or_rounded(double value, int decimals) {
  if (decimals >= 0) {
    return fixed(value, decimals);
  }
  const double step = std::pow(10.0, -decimals);
  return fixed(std::round(value / step) * step, 0);
}

bool needs_exponent(double value) {
  const double magnitude = std::abs(value);
  return magnitude != 0.0 && (magnitude < 1e-4 || magnitude >= 1e15);
}

}  // namespace

std::string format_rounded(double value, int significant) {
  if (!std::isfinite(value)) {
    return std::string(kMissing);
  }
  if (value == 0.0) {
    return "0";
  }
  if (needs_exponent(value)) {
    return fmt::format("{:.{}e}", value, significant - 1);
  }
  return fixed(value, decimals_for(value, significant));
}

std::string format_mean_and_sd(const Summary& summary, int significant) {
  if (!summary.mean || !std::isfinite(*summary.mean)) {
    return std::string(kMissing);
  }
  const double mean = *summary.mean;
  if (!summary.sd || !std::isfinite(*summary.sd)) {
    return format_rounded(mean, significant);
  }
  const double sd = *summary.sd;
  // A spread that is nothing but rounding would ask for all digits of the mean.
  constexpr double kRounding = 1e-7;
  if (sd <= std::abs(mean) * kRounding) {
    return format_rounded(mean, significant) + std::string(kPlusMinus) + "0";
  }
  constexpr int kSpreadDigits = 2;
  if (needs_exponent(mean)) {
    const int exponent = -decimals_for(mean, 1);
    const double scale = std::pow(10.0, exponent);
    const int decimals = std::max(0, decimals_for(sd / scale, kSpreadDigits));
    return fmt::format("({}{}{})e{}",
                       fixed(mean / scale, decimals),
                       kPlusMinus,
                       fixed(sd / scale, decimals),
                       exponent);
  }
  const int decimals = decimals_for(sd, kSpreadDigits);
  return fixed_or_rounded(mean, decimals) + std::string(kPlusMinus) +
         fixed_or_rounded(sd, decimals);
}

std::string format_coefficient(double value) {
  if (!std::isfinite(value)) {
    return std::string(kMissing);
  }
  return value == 0.0 || std::abs(value) >= 1e-3 ? fixed(value, 6) : fmt::format("{:.5e}", value);
}

}  // namespace joulescale
