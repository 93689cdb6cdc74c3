// SPDX-License-Identifier: Apache-2.0
// Tables for people without a typesetter: terminal and Markdown.
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "joulescale/report/escape.h"
#include "joulescale/report/table_writers.h"

namespace joulescale {
namespace {

/// Columns that a terminal needs for UTF-8 text: one a code point.
std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

std::string padded(const std::string& text, std::size_t width, bool right_aligned) {
  const std::string blanks(width - std::min(width, display_width(text)), ' ');
  return right_aligned ? blanks + text : text + blanks;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end > 0) {
      words.emplace_back(text.substr(0, end));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

std::vector<std::string> wrapped(const std::vector<std::string>& words, std::size_t width) {
  std::vector<std::string> lines;
  for (const std::string& word : words) {
    if (!lines.empty() && display_width(lines.back()) + 1 + display_width(word) <= width) {
      lines.back() += " " + word;
    } else {
      lines.push_back(word);
    }
  }
  return lines;
}

struct TextColumn {
  std::vector<std::string> heading;  // lines, the last one next to the rule
  std::vector<std::string> cells;
  std::size_t width = 0;
  bool right_aligned = false;
};

TextColumn text_column(const Table& table, std::size_t index) {
  TextColumn column;
  column.right_aligned = table.columns[index].kind != ColumnKind::kText;
  for (const auto& row : table.rows) {
    column.cells.push_back(cell_text(row[index]));
    column.width = std::max(column.width, display_width(column.cells.back()));
  }
  const auto words = words_of(one_line(column_heading(table.columns[index])));
  for (const std::string& word : words) {
    column.width = std::max(column.width, display_width(word));
  }
  column.heading = wrapped(words, column.width);
  return column;
}

void trim_right(std::string& text) { text.erase(text.find_last_not_of(' ') + 1); }

}  // namespace

std::string format_text_table(const Table& table) {
  constexpr std::string_view kGap = "  ";
  std::vector<TextColumn> columns;
  std::size_t heading_lines = 0;
  std::size_t width = 0;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    columns.push_back(text_column(table, i));
    heading_lines = std::max(heading_lines, columns.back().heading.size());
    width += columns.back().width + (i > 0 ? kGap.size() : 0);
  }
  const auto line_of = [&](auto text_of) {
    std::string line;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      line += i > 0 ? kGap : "";
      line += padded(text_of(columns[i]), columns[i].width, columns[i].right_aligned);
    }
    trim_right(line);
    return line + "\n";
  };

  std::string text = one_line(table.title) + "\n";
  for (std::size_t line = 0; line < heading_lines; ++line) {
    text += line_of([&](const TextColumn& column) {
      const std::size_t first = heading_lines - column.heading.size();
      return line < first ? std::string() : column.heading[line - first];
    });
  }
  text += std::string(width, '-') + "\n";
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    text += line_of([&](const TextColumn& column) { return column.cells[row]; });
  }
  for (const std::string& note : table.notes) {
    text += fmt::format("* {}\n", one_line(note));
  }
  return text;
}

std::string format_markdown_table(const Table& table) {
  const auto text_of = [](std::string_view text) { return escape_markdown(one_line(text)); };
  std::string text = fmt::format("**{}**\n\n|", text_of(table.title));
  for (const Column& column : table.columns) {
    text += fmt::format(" {} |", text_of(column_heading(column)));
  }
  text += "\n|";
  for (const Column& column : table.columns) {
    text += column.kind == ColumnKind::kText ? " --- |" : " ---: |";
  }
  text += "\n";
  for (const auto& row : table.rows) {
    text += "|";
    for (const Cell& cell : row) {
      text += fmt::format(" {} |", text_of(cell_text(cell)));
    }
    text += "\n";
  }
  if (!table.notes.empty()) {
    text += "\n";
  }
  for (const std::string& note : table.notes) {
    text += fmt::format("- {}\n", text_of(note));
  }
  return text;
}

}  // namespace joulescale
