// SPDX-License-Identifier: Apache-2.0
// Tables as text. All text is escaped for its format after formatting; missing values are "-" for
// people, empty in CSV and absent in JSON.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "joulescale/report/table.h"

namespace joulescale {

inline constexpr std::string_view kTablesSchema = "joulescale.tables/1";

/// Aligned columns, headings wrapped to them; title above, notes below.
std::string format_text_table(const Table& table);

std::string format_markdown_table(const Table& table);

/// A table environment in booktabs style, with caption and label. Needs \usepackage{booktabs}.
std::string format_latex_table(const Table& table);

/// RFC 4180 with a first line of column keys; numbers in full precision; no title and no notes.
std::string format_csv_table(const Table& table);

/// A <table> element with its title as caption and notes in a list below, in a <figure>.
std::string format_html_table(const Table& table);

/// One JSON object: `schema` (kTablesSchema), `energy_basis` and `tables` {name: [{column key:
/// value}]}. A mean with its spread is {"mean", "sd", "interval", "count"}, a coefficient {"value",
/// "interval"}.
std::string format_json_tables(std::span<const Table> tables, std::string_view energy_basis);

}  // namespace joulescale
