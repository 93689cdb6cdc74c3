// SPDX-License-Identifier: Apache-2.0
#include "joulescale/report/table_writers.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace joulescale {
namespace {

Table example_table() {
  Table table;
  table.name = "example";
  table.title = "Energy (estimated) of a_b & 50% | #1";
  table.columns = {{"series", "series", "", ColumnKind::kText},
                   {"devices", "GPUs", "", ColumnKind::kNumber},
                   {"energy_kwh", "energy (estimated)", "kWh", ColumnKind::kSummary},
                   {"a_kwh_per_h", "a", "kWh/h", ColumnKind::kCoefficient},
                   {"share_percent", "share", "%", ColumnKind::kNumber}};
  table.rows = {{std::string("a|b"),
                 std::int64_t{2},
                 Summary{0.5, 0.0123, Interval{0.4, 0.6}, 3},
                 Coefficient{0.25, Interval{0.2, 0.3}},
                 Number{12.5, 3}},
                {std::string("c\nd\x1B[31m"), Cell(), Cell(), Cell(), Cell()}};
  table.notes = {"50 % of a_b"};
  return table;
}

TEST(TableWriters, Terminal) {
  EXPECT_EQ(format_text_table(example_table()),
            "Energy (estimated) of a_b & 50% | #1\n"
            "                       energy\n"
            "                  (estimated)                                 share\n"
            "series    GPUs          [kWh]                      a [kWh/h]    [%]\n"
            "-------------------------------------------------------------------\n"
            "a|b          2  0.500 \xC2\xB1 0.012  0.250000 [0.200000, 0.300000]   12.5\n"
            "c d [31m     -              -                              -      -\n"
            "* 50 % of a_b\n");
}

TEST(TableWriters, Markdown) {
  EXPECT_EQ(format_markdown_table(example_table()),
            "**Energy (estimated) of a\\_b &amp; 50% \\| \\#1**\n\n"
            "| series | GPUs | energy (estimated) \\[kWh\\] | a \\[kWh/h\\] | share \\[%\\] |\n"
            "| --- | ---: | ---: | ---: | ---: |\n"
            "| a\\|b | 2 | 0.500 \xC2\xB1 0.012 | 0.250000 \\[0.200000, 0.300000\\] | 12.5 |\n"
            "| c d \\[31m | - | - | - | - |\n"
            "\n- 50 % of a\\_b\n");
}

TEST(TableWriters, Latex) {
  EXPECT_EQ(format_latex_table(example_table()),
            "% needs \\usepackage{booktabs}; before LaTeX 2020 also textcomp\n"
            "\\begin{table}\n"
            "  \\centering\n"
            "  \\footnotesize\n"
            "  \\caption{Energy (estimated) of a\\_b \\& 50\\% \\textbar{} \\#1}\n"
            "  \\label{tab:example}\n"
            "  \\begin{tabular}{lrrrr}\n"
            "    \\toprule\n"
            "    series & GPUs & energy (estimated) {[}kWh] & a {[}kWh/h] & share {[}\\%] \\\\\n"
            "    \\midrule\n"
            "    a\\textbar{}b & 2 & 0.500 $\\pm$ 0.012 & 0.250000 {[}0.200000, 0.300000] & 12.5 "
            "\\\\\n"
            "    c d {[}31m & - & - & - & - \\\\\n"
            "    \\bottomrule\n"
            "  \\end{tabular}\n"
            "  \\par\\smallskip 50 \\% of a\\_b\n"
            "\\end{table}\n");
}

TEST(TableWriters, CsvHasFullPrecisionAndEmptyForMissing) {
  Table table = example_table();
  std::get<Summary>(table.rows[0][2]).mean = 0.1 + 0.2;
  EXPECT_EQ(format_csv_table(table),
            "series,devices,energy_kwh_mean,energy_kwh_sd,a_kwh_per_h,a_kwh_per_h_low,"
            "a_kwh_per_h_high,share_percent\n"
            "a|b,2,0.30000000000000004,0.0123,0.25,0.2,0.3,12.5\n"
            "c d [31m,,,,,,,\n");
}

TEST(TableWriters, JsonLeavesMissingKeysOutAndHoldsNoNan) {
  Table table = example_table();
  table.rows[0][4] = Number{std::numeric_limits<double>::quiet_NaN()};
  const auto json = nlohmann::json::parse(format_json_tables(std::vector{table}, "with_estimates"));
  EXPECT_EQ(json.at("energy_basis"), "with_estimates");
  const auto& rows = json.at("tables").at("example");
  EXPECT_DOUBLE_EQ(rows.at(0).at("energy_kwh").at("mean"), 0.5);
  EXPECT_EQ(rows.at(0).at("energy_kwh").at("count"), 3);
  EXPECT_DOUBLE_EQ(rows.at(0).at("a_kwh_per_h").at("interval").at(1), 0.3);
  EXPECT_FALSE(rows.at(0).contains("share_percent"));
  EXPECT_EQ(rows.at(1).size(), 1U);
}

TEST(TableWriters, HtmlEscapesEveryPlace) {
  const std::string evil = R"(</script><img src=x onerror=alert(1)>"'&)";
  Table table = example_table();
  table.title = evil;
  table.columns[0].title = evil;
  table.rows[0][0] = evil;
  table.notes = {evil};
  const std::string html = format_html_table(table);
  EXPECT_EQ(html.find("<img"), std::string::npos);
  EXPECT_EQ(html.find("</script"), std::string::npos);
  std::size_t escaped = 0;
  for (auto at = html.find("&lt;img"); at != std::string::npos; at = html.find("&lt;img", at + 1)) {
    ++escaped;
  }
  EXPECT_EQ(escaped, 4U);
}

TEST(TableWriters, BytesThatAreNotUtf8AreReplaced) {
  Table table = example_table();
  table.rows[0][0] = std::string("\xFF\xC2\x9B");
  EXPECT_NE(format_text_table(table).find("\xEF\xBF\xBD "), std::string::npos);
  EXPECT_TRUE(nlohmann::json::accept(format_json_tables(std::vector{table}, "measured")));
}

}  // namespace
}  // namespace joulescale
