// SPDX-License-Identifier: Apache-2.0
// Tables for programs: CSV and JSON, full precision.
#include <cmath>
#include <vector>

#include <nlohmann/json.hpp>

#include "joulescale/base/text.h"
#include "joulescale/report/escape.h"
#include "joulescale/report/json_values.h"
#include "joulescale/report/table_writers.h"

namespace joulescale {
namespace {

std::string csv_number(std::optional<double> value) {
  return value && std::isfinite(*value) ? format_double(*value) : "";
}

std::vector<std::string> csv_heading(const Column& column) {
  switch (column.kind) {
    case ColumnKind::kSummary:
      return {column.key + "_mean", column.key + "_sd"};
    case ColumnKind::kCoefficient:
      return {column.key, column.key + "_low", column.key + "_high"};
    case ColumnKind::kText:
    case ColumnKind::kNumber:
      break;
  }
  return {column.key};
}

/// As many values as csv_heading() has for the column.
std::vector<std::string> csv_values(const Column& column, const Cell& cell) {
  if (const auto* const text = std::get_if<std::string>(&cell)) {
    return {escape_csv(one_line(*text))};
  }
  if (const auto* const count = std::get_if<std::int64_t>(&cell)) {
    return {std::to_string(*count)};
  }
  if (const auto* const number = std::get_if<Number>(&cell)) {
    return {csv_number(number->value)};
  }
  if (const auto* const summary = std::get_if<Summary>(&cell)) {
    return {csv_number(summary->mean), csv_number(summary->sd)};
  }
  if (const auto* const coefficient = std::get_if<Coefficient>(&cell)) {
    const auto& interval = coefficient->interval;
    return {csv_number(coefficient->value),
            csv_number(interval ? std::optional(interval->low) : std::nullopt),
            csv_number(interval ? std::optional(interval->high) : std::nullopt)};
  }
  return std::vector<std::string>(csv_heading(column).size());
}

std::string csv_line(const std::vector<std::string>& values) {
  std::string line;
  for (const std::string& value : values) {
    line += line.empty() && &value == &values.front() ? "" : ",";
    line += value;
  }
  return line + "\n";
}

void put_cell(Json& row, const std::string& key, const Cell& cell) {
  if (const auto* const text = std::get_if<std::string>(&cell)) {
    put_value(row, key, *text);
  } else if (const auto* const count = std::get_if<std::int64_t>(&cell)) {
    row[key] = *count;
  } else if (const auto* const number = std::get_if<Number>(&cell)) {
    put_value(row, key, number->value);
  } else if (const auto* const summary = std::get_if<Summary>(&cell)) {
    put_summary(row, key, *summary);
  } else if (const auto* const coefficient = std::get_if<Coefficient>(&cell)) {
    Json entry = Json::object();
    put_value(entry, "value", coefficient->value);
    put_interval(entry, "interval", coefficient->interval);
    row[key] = std::move(entry);
  }
}

}  // namespace

std::string format_csv_table(const Table& table) {
  std::vector<std::string> heading;
  for (const Column& column : table.columns) {
    const auto names = csv_heading(column);
    heading.insert(heading.end(), names.begin(), names.end());
  }
  std::string text = csv_line(heading);
  for (const auto& row : table.rows) {
    std::vector<std::string> line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const auto values = csv_values(table.columns[i], row[i]);
      line.insert(line.end(), values.begin(), values.end());
    }
    text += csv_line(line);
  }
  return text;
}

std::string format_json_tables(std::span<const Table> tables, std::string_view energy_basis) {
  Json object = Json::object();
  object["schema"] = kTablesSchema;
  object["energy_basis"] = energy_basis;
  object["tables"] = Json::object();
  for (const Table& table : tables) {
    Json rows = Json::array();
    for (const auto& row : table.rows) {
      Json entry = Json::object();
      for (std::size_t i = 0; i < row.size(); ++i) {
        put_cell(entry, table.columns[i].key, row[i]);
      }
      rows.push_back(std::move(entry));
    }
    object["tables"][table.name] = std::move(rows);
  }
  return object.dump(2) + "\n";
}

}  // namespace joulescale
