// SPDX-License-Identifier: Apache-2.0
#include "joulescale/base/process_stat.h"

#include <algorithm>
#include <array>

#include "joulescale/base/text.h"

namespace joulescale {
namespace {

// Fields by their number in proc(5), less 3: what follows the name.
constexpr std::size_t kState = 0;
constexpr std::size_t kParent = 1;
constexpr std::size_t kUserTicks = 11;
constexpr std::size_t kSystemTicks = 12;
constexpr std::size_t kChildUserTicks = 13;
constexpr std::size_t kChildSystemTicks = 14;
constexpr std::size_t kStartTicks = 19;
constexpr std::size_t kRssPages = 21;
constexpr std::size_t kNumFields = 22;

/// Far above what a machine reaches, and sums of a million of them do not overflow.
constexpr std::uint64_t kMostTicks = std::uint64_t{1} << 42;

}  // namespace

std::optional<ProcessStat> parse_process_stat(std::string_view text) {
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos) {
    return std::nullopt;
  }
  text.remove_prefix(name_end + 1);
  std::array<std::string_view, kNumFields> fields;
  for (std::string_view& field : fields) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    field = text.substr(0, text.find_first_of(" \n"));
    text.remove_prefix(field.size());
  }
  bool is_good = true;
  const auto number = [&](std::size_t field) {
    const auto value = parse_uint64(fields[field]);
    is_good = is_good && value && *value < kMostTicks;
    return value.value_or(0);
  };
  ProcessStat stat;
  stat.state = fields[kState].empty() ? stat.state : fields[kState].front();
  stat.parent = static_cast<pid_t>(number(kParent) & 0x7FFFFFFF);
  stat.own_ticks = number(kUserTicks) + number(kSystemTicks);
  stat.child_ticks = number(kChildUserTicks) + number(kChildSystemTicks);
  stat.start_ticks = number(kStartTicks);
  stat.rss_pages = number(kRssPages);
  return is_good ? std::optional(stat) : std::nullopt;
}

}  // namespace joulescale
