// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "joulescale/report/escape.h"
#include "joulescale/report/table_writers.h"

namespace joulescale {
namespace {

std::string html(std::string_view text) { return escape_html(one_line(text)); }

std::string heading_cell(const Column& column) {
  const std::string_view alignment = column.kind == ColumnKind::kText ? "" : " class=\"number\"";
  const std::string unit =
      column.unit.empty() ? ""
                          : fmt::format(" <span class=\"unit\">[{}]</span>", html(column.unit));
  return fmt::format("<th scope=\"col\"{}>{}{}</th>", alignment, html(column.title), unit);
}

}  // namespace

std::string format_html_table(const Table& table) {
  std::string text = fmt::format(
      "<figure class=\"table\" id=\"table-{0}\">\n<figcaption>{1}</figcaption>\n"
      "<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr>",
      html(table.name),
      html(table.title));
  for (const Column& column : table.columns) {
    text += heading_cell(column);
  }
  text += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    text += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool is_text = table.columns[i].kind == ColumnKind::kText;
      text +=
          fmt::format("<td{}>{}</td>", is_text ? "" : " class=\"number\"", html(cell_text(row[i])));
    }
    text += "</tr>\n";
  }
  text += "</tbody>\n</table></div>\n";
  if (!table.notes.empty()) {
    text += "<ul class=\"notes\">\n";
    for (const std::string& note : table.notes) {
      text += fmt::format("<li>{}</li>\n", html(note));
    }
    text += "</ul>\n";
  }
  return text + "</figure>\n";
}

}  // namespace joulescale
