// SPDX-License-Identifier: Apache-2.0
// A table as data, before any format: typed cells, units in the columns. Writers turn it into text
// for people (terminal, Markdown, LaTeX, HTML) or for programs (CSV, JSON).
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "joulescale/analysis/regression.h"
#include "joulescale/analysis/statistics.h"

namespace joulescale {

/// A plain number, printed with `significant` digits.
struct Number {
  double value = 0.0;
  int significant = 4;
};

/// Text, a count, a number, a mean with its spread, a coefficient with its interval; or missing.
using Cell = std::variant<std::monostate, std::string, std::int64_t, Number, Summary, Coefficient>;

enum class ColumnKind {
  kText,
  kNumber,       // std::int64_t, Number
  kSummary,      // Summary: two columns (KEY_mean, KEY_sd) where formats are flat
  kCoefficient,  // Coefficient: three columns (KEY, KEY_low, KEY_high) where formats are flat
};

struct Column {
  std::string key;    // snake_case, ends in the unit: "energy_kwh"
  std::string title;  // "energy"
  std::string unit;   // "kWh"; empty for none
  ColumnKind kind = ColumnKind::kNumber;
};

struct Table {
  std::string name;   // "configurations"
  std::string title;  // one line for people
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;  // as many cells as columns
  std::vector<std::string> notes;       // lines below the table
};

/// The cell as people read it; "-" for missing. One line of valid UTF-8, not escaped.
std::string cell_text(const Cell& cell);

/// "energy [kWh]".
std::string column_heading(const Column& column);

/// `text` on one line: control characters become blanks, bytes that are not UTF-8 are replaced.
std::string one_line(std::string_view text);

}  // namespace joulescale
