// SPDX-License-Identifier: Apache-2.0
// Checks of option values that CLI11 lacks.
#pragma once

#include <cmath>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace joulescale {

/// A number from `low` to `high`; CLI::Range lets NaN through.
inline CLI::Validator number_between(double low, double high) {
  return CLI::Validator(
      [low, high](std::string& text) {
        double value = 0.0;
        const bool is_number = CLI::detail::lexical_cast(text, value) && std::isfinite(value);
        return is_number && value >= low && value <= high
                   ? std::string()
                   : fmt::format(
                         "'{}' is not allowed; allowed: a number from {} to {}", text, low, high);
      },
      fmt::format("{}..{}", low, high));
}

}  // namespace joulescale
