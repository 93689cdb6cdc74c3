// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "joulescale/report/escape.h"
#include "joulescale/report/table_writers.h"

namespace joulescale {
namespace {

std::string latex(std::string_view text) { return escape_latex(one_line(text)); }

/// The cells of a line, joined and ended.
template <typename Range, typename TextOf>
std::string line_of(const Range& range, TextOf text_of) {
  std::string line = "    ";
  bool first = true;
  for (const auto& element : range) {
    line += first ? "" : " & ";
    line += latex(text_of(element));
    first = false;
  }
  return line + " \\\\\n";
}

}  // namespace

std::string format_latex_table(const Table& table) {
  std::string alignment;
  for (const Column& column : table.columns) {
    alignment += column.kind == ColumnKind::kText ? 'l' : 'r';
  }
  std::string text =
      "% needs \\usepackage{booktabs}; before LaTeX 2020 also textcomp\n"
      "\\begin{table}\n  \\centering\n  \\footnotesize\n";
  text += fmt::format("  \\caption{{{}}}\n  \\label{{tab:{}}}\n", latex(table.title), table.name);
  text += fmt::format("  \\begin{{tabular}}{{{}}}\n    \\toprule\n", alignment);
  text += line_of(table.columns, column_heading);
  text += "    \\midrule\n";
  for (const auto& row : table.rows) {
    text += line_of(row, cell_text);
  }
  text += "    \\bottomrule\n  \\end{tabular}\n";
  for (const std::string& note : table.notes) {
    text += fmt::format("  \\par\\smallskip {}\n", latex(note));
  }
  return text + "\\end{table}\n";
}

}  // namespace joulescale
