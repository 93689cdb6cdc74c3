// SPDX-License-Identifier: Apache-2.0
// Checks of option values that CLI11 lacks.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

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

inline CLI::Validator one_of(const std::vector<std::string>& words) {
  return CLI::Validator(
      [words](std::string& text) {
        return std::ranges::find(words, text) != words.end()
                   ? std::string()
                   : fmt::format("'{}' is not allowed; allowed: {}", text, fmt::join(words, ", "));
      },
      fmt::format("{{{}}}", fmt::join(words, ",")));
}

inline CLI::Validator existing_directory() {
  return CLI::Validator(
      [](std::string& text) {
        std::error_code ignored;
        return std::filesystem::is_directory(text, ignored)
                   ? std::string()
                   : fmt::format("'{}' is no directory", text);
      },
      "");
}

/// What is wrong with a file as a shared library; a device (/dev/null) stands for none.
inline std::string library_problem(const std::string& path) {
  constexpr std::string_view kElfMagic =
      "\x7f"
      "ELF";
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    return fmt::format("'{}' is not there", path);
  }
  if (std::filesystem::is_character_file(path, ignored)) {
    return "";
  }
  std::array<char, kElfMagic.size()> start{};
  std::ifstream file(path, std::ios::binary);
  file.read(start.data(), start.size());
  return file && std::string_view(start.data(), start.size()) == kElfMagic
             ? ""
             : fmt::format("'{}' is no shared library that can be read", path);
}

/// As dlopen(3) takes it: a name without a slash is looked for in the system's folders.
inline CLI::Validator library_file() {
  return CLI::Validator(
      [](std::string& text) {
        return text.find('/') == std::string::npos ? std::string() : library_problem(text);
      },
      "");
}

}  // namespace joulescale
