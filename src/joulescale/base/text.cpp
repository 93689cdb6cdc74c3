// SPDX-License-Identifier: Apache-2.0
#include "joulescale/base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>
#include <vector>

namespace joulescale {
namespace {

template <typename T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [position, code] = std::from_chars(text.data(), end, value);
  if (code != std::errc() || position != end) {
    return std::nullopt;
  }
  return value;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

/// Length of the well-formed UTF-8 sequence at the start of `text`, 0 if there is none (RFC 3629,
/// section 4).
std::size_t utf8_sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) {
    return 1;
  }
  std::size_t length = 0;
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
  if (first >= 0xC2 && first <= 0xDF) {
    length = 2;
  } else if (first >= 0xE0 && first <= 0xEF) {
    length = 3;
    low = first == 0xE0 ? 0xA0 : 0x80;
    high = first == 0xED ? 0x9F : 0xBF;
  } else if (first >= 0xF0 && first <= 0xF4) {
    length = 4;
    low = first == 0xF0 ? 0x90 : 0x80;
    high = first == 0xF4 ? 0x8F : 0xBF;
  }
  if (length == 0 || text.size() < length || byte(1) < low || byte(1) > high) {
    return 0;
  }
  for (std::size_t i = 2; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xBF) {
      return 0;
    }
  }
  return length;
}

}  // namespace

std::optional<std::int64_t> parse_int64(std::string_view text) {
  return parse_number<std::int64_t>(text);
}

std::optional<std::uint64_t> parse_uint64(std::string_view text) {
  return parse_number<std::uint64_t>(text);
}

std::optional<double> parse_double(std::string_view text) {
  const auto value = parse_number<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<Nanoseconds> parse_duration(std::string_view text) {
  struct TimeUnit {
    std::string_view name;
    double nanoseconds;
  };
  constexpr std::array<TimeUnit, 4> kUnits = {
      {{"ms", 1e6}, {"s", 1e9}, {"min", 60e9}, {"h", 3600e9}}};
  constexpr double kHundredYears = 100.0 * 365.0 * 24.0 * 3600e9;
  const std::size_t length = text.find_last_not_of("abcdefghijklmnopqrstuvwxyz") + 1;
  const auto number = parse_double(text.substr(0, length));
  const auto* const unit = std::ranges::find(kUnits, text.substr(length), &TimeUnit::name);
  if (!number || unit == kUnits.end() || *number < 0.0 ||
      *number * unit->nanoseconds > kHundredYears) {
    return std::nullopt;
  }
  return Nanoseconds(std::llround(*number * unit->nanoseconds));
}

std::string format_double(double value) {
  std::array<char, 32> buffer;
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), result.ptr};
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n\v\f";
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string to_valid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_sequence_length(text);
    if (length == 0) {
      valid += "\xEF\xBF\xBD";
      text.remove_prefix(1);
    } else {
      valid.append(text.substr(0, length));
      text.remove_prefix(length);
    }
  }
  return valid;
}

std::string escape_csv(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    return std::string(text);
  }
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c;
    if (c == '"') {
      quoted += c;
    }
  }
  quoted += '"';
  return quoted;
}

std::optional<std::string_view> nearest_name(std::string_view word,
                                             std::span<const std::string_view> candidates) {
  std::optional<std::string_view> nearest;
  std::size_t nearest_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < nearest_distance) {
      nearest = candidate;
      nearest_distance = distance;
    }
  }
  return nearest;
}

}  // namespace joulescale
