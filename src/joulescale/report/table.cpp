// SPDX-License-Identifier: Apache-2.0
#include "joulescale/report/table.h"

#include <fmt/format.h>

#include "joulescale/base/text.h"
#include "joulescale/report/number_format.h"

namespace joulescale {
namespace {

struct CellText {
  std::string operator()(std::monostate) const { return std::string(kMissing); }
  std::string operator()(const std::string& text) const {
    return text.empty() ? std::string(kMissing) : one_line(text);
  }
  std::string operator()(std::int64_t count) const { return fmt::format("{}", count); }
  std::string operator()(const Number& number) const {
    return format_rounded(number.value, number.significant);
  }
  std::string operator()(const Summary& summary) const { return format_mean_and_sd(summary); }
  std::string operator()(const Coefficient& coefficient) const {
    std::string text = format_coefficient(coefficient.value);
    if (coefficient.interval) {
      text += fmt::format(" [{}, {}]",
                          format_coefficient(coefficient.interval->low),
                          format_coefficient(coefficient.interval->high));
    }
    return text;
  }
};

}  // namespace

std::string cell_text(const Cell& cell) { return std::visit(CellText{}, cell); }

std::string column_heading(const Column& column) {
  return column.unit.empty() ? column.title : fmt::format("{} [{}]", column.title, column.unit);
}

std::string one_line(std::string_view text) {
  const std::string valid = to_valid_utf8(text);
  std::string line;
  for (std::size_t i = 0; i < valid.size(); ++i) {
    const auto byte = static_cast<unsigned char>(valid[i]);
    const bool c1_control = byte == 0xC2 && static_cast<unsigned char>(valid[i + 1]) < 0xA0;
    if (c1_control) {
      ++i;
    }
    line += c1_control || byte < 0x20 || byte == 0x7F ? ' ' : valid[i];
  }
  return line;
}

}  // namespace joulescale
