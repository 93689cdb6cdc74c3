// SPDX-License-Identifier: Apache-2.0
// Numbers and words to and from text, the same in every locale.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "joulescale/base/clock.h"

namespace joulescale {

/// The whole of `text` as a number; nothing for anything else (signs, blanks and trailing bytes
/// included).
std::optional<std::int64_t> parse_int64(std::string_view text);
std::optional<std::uint64_t> parse_uint64(std::string_view text);
/// Finite values only.
std::optional<double> parse_double(std::string_view text);

/// A length of time with its unit, "500ms", "10s", "1.5min" or "1h", below 100 years; nothing for
/// anything else.
std::optional<Nanoseconds> parse_duration(std::string_view text);

/// The shortest decimal form that reads back to the same double ("0.30000000000000004", "1e+30").
std::string format_double(double value);

/// `text` without blanks and line ends at both sides.
std::string_view trim(std::string_view text);

/// `text` with every byte sequence that is not UTF-8 replaced by U+FFFD.
std::string to_valid_utf8(std::string_view text);

/// `text` as a CSV value (RFC 4180), quoted where needed.
std::string escape_csv(std::string_view text);

/// The candidate that differs least from `word`, when it is near enough to be a slip of the pen.
std::optional<std::string_view> nearest_name(std::string_view word,
                                             std::span<const std::string_view> candidates);

}  // namespace joulescale
