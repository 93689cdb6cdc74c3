// SPDX-License-Identifier: Apache-2.0
#include "joulescale/analysis/run_summaries.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "joulescale/base/text.h"

namespace joulescale {
namespace {

constexpr std::size_t kMaxRows = 100'000;

/// A column of the file and the member that it fills.
struct Column {
  std::string_view name;
  std::variant<std::string RunSummary::*, std::int64_t RunSummary::*, double RunSummary::*> member;
  bool zero_allowed = false;
};

constexpr std::array<Column, 9> kColumns = {{
    {"series", &RunSummary::series},
    {"gpus", &RunSummary::gpus},
    {"local_batch_size", &RunSummary::local_batch_size},
    {"global_batch_size", &RunSummary::global_batch_size},
    {"training_samples", &RunSummary::training_samples},
    {"energy_kwh_mean", &RunSummary::energy_kwh_mean},
    {"energy_kwh_std", &RunSummary::energy_kwh_std, true},
    {"gpu_hours_mean", &RunSummary::gpu_hours_mean},
    {"gpu_hours_std", &RunSummary::gpu_hours_std, true},
}};

std::vector<std::string_view> column_names() {
  std::vector<std::string_view> names;
  names.reserve(kColumns.size());
  for (const Column& column : kColumns) {
    names.push_back(column.name);
  }
  return names;
}

/// A place in the file, for messages.
struct Place {
  std::string_view file;
  std::size_t line = 1;
  std::size_t column = 1;
};

Error error_at(const Place& place, std::string_view message) {
  return {ErrorCode::kInvalidArgument,
          fmt::format("{}:{}:{}: {}", place.file, place.line, place.column, message)};
}

/// What a message shows of a cell: short and on one line.
std::string excerpt(std::string_view cell) {
  constexpr std::size_t kMaxBytes = 40;
  std::string shown(cell.substr(0, kMaxBytes));
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  return to_valid_utf8(shown) + (cell.size() > kMaxBytes ? "..." : "");
}

struct Cell {
  std::string text;
  Place place;
};

/// Splits CSV text into cells, a line at a time.
class CsvReader {
 public:
  CsvReader(std::string_view text, std::string_view name) : rest_(text), place_{name, 1, 1} {}

  const Place& place() const { return place_; }

  /// The cells of the next line that is not blank; empty at the end of the text.
  Result<std::vector<Cell>> next_row() {
    std::vector<Cell> cells;
    while (!rest_.empty() && (rest_.front() == '\n' || rest_.front() == '\r')) {
      advance();
    }
    while (!rest_.empty()) {
      JOULESCALE_TRY_ASSIGN(Cell cell, next_cell());
      cells.push_back(std::move(cell));
      if (rest_.empty() || rest_.front() != ',') {
        break;
      }
      advance();
      if (rest_.empty()) {  // the line ends in a comma: one more, empty, cell
        cells.push_back({"", place_});
      }
    }
    return cells;
  }

 private:
  char advance() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    if (c == '\n') {
      ++place_.line;
      place_.column = 1;
    } else {
      ++place_.column;
    }
    return c;
  }

  Result<Cell> next_cell() {
    Cell cell{"", place_};
    if (!rest_.empty() && rest_.front() == '"') {
      advance();
      bool closed = false;
      while (!rest_.empty() && !closed) {
        const char c = advance();
        if (c != '"') {
          cell.text += c;
        } else if (!rest_.empty() && rest_.front() == '"') {
          cell.text += advance();
        } else {
          closed = true;
        }
      }
      if (!closed) {
        return error_at(cell.place, "a quoted value is not closed");
      }
      if (!rest_.empty() &&
          std::string_view(",\r\n").find(rest_.front()) == std::string_view::npos) {
        return error_at(place_, "text after a closing quote");
      }
      return cell;
    }
    while (!rest_.empty() &&
           std::string_view(",\r\n").find(rest_.front()) == std::string_view::npos) {
      cell.text += advance();
    }
    cell.text = trim(cell.text);
    return cell;
  }

  std::string_view rest_;
  Place place_;
};

/// The column that each cell of the header names.
Result<std::vector<const Column*>> parse_header(const std::vector<Cell>& header) {
  const auto names = column_names();
  std::vector<const Column*> columns;
  for (const Cell& cell : header) {
    const auto* const found = std::find_if(
        kColumns.begin(), kColumns.end(), [&](const Column& c) { return c.name == cell.text; });
    if (found == kColumns.end()) {
      const auto nearest = nearest_name(cell.text, names);
      return error_at(
          cell.place,
          nearest
              ? fmt::format("unknown column '{}'; did you mean '{}'?", excerpt(cell.text), *nearest)
              : fmt::format("unknown column '{}'; columns are {}",
                            excerpt(cell.text),
                            fmt::join(names, ", ")));
    }
    if (std::find(columns.begin(), columns.end(), &*found) != columns.end()) {
      return error_at(cell.place, fmt::format("column '{}' stands twice", cell.text));
    }
    columns.push_back(&*found);
  }
  for (const Column& column : kColumns) {
    if (std::find(columns.begin(), columns.end(), &column) == columns.end()) {
      return error_at(header.front().place, fmt::format("column '{}' is missing", column.name));
    }
  }
  return columns;
}

Result<void> set_member(RunSummary& row, const Column& column, const Cell& cell) {
  if (const auto* const text = std::get_if<0>(&column.member)) {
    if (cell.text.empty()) {
      return error_at(cell.place, fmt::format("'{}' is empty", column.name));
    }
    row.*(*text) = to_valid_utf8(cell.text);
    return {};
  }
  if (const auto* const count = std::get_if<1>(&column.member)) {
    const auto value = parse_int64(cell.text);
    // 2^31 - 1 is above any count of GPUs, batch or data set size that exists.
    if (!value || *value < 1 || *value > 2'147'483'647) {
      return error_at(cell.place,
                      fmt::format("'{}' must be a whole number from 1 to 2147483647, not '{}'",
                                  column.name,
                                  excerpt(cell.text)));
    }
    row.*(*count) = *value;
    return {};
  }
  const auto value = parse_double(cell.text);
  constexpr double kLargest = 1e15;  // kWh or hours: far above anything real
  if (!value || *value > kLargest || (column.zero_allowed ? *value < 0.0 : *value <= 0.0)) {
    return error_at(cell.place,
                    fmt::format("'{}' must be a number {} 0, at most 1e15, not '{}'",
                                column.name,
                                column.zero_allowed ? "of at least" : "above",
                                excerpt(cell.text)));
  }
  row.*std::get<2>(column.member) = *value;
  return {};
}

auto configuration_of(const RunSummary& row) {
  return std::tuple(row.gpus, row.local_batch_size, row.global_batch_size, row.training_samples);
}

bool same_values(const RunSummary& a, const RunSummary& b) {
  return a.energy_kwh_mean == b.energy_kwh_mean && a.energy_kwh_std == b.energy_kwh_std &&
         a.gpu_hours_mean == b.gpu_hours_mean && a.gpu_hours_std == b.gpu_hours_std;
}

MeasuredConfiguration configuration_from(const RunSummary& row) {
  MeasuredConfiguration configuration;
  configuration.key.device_kind = "gpu";
  configuration.key.num_devices = static_cast<int>(row.gpus);
  configuration.key.local_batch_size = row.local_batch_size;
  configuration.key.global_batch_size = row.global_batch_size;
  configuration.key.dataset_samples = row.training_samples;
  configuration.series = {row.series};
  const auto gpus = static_cast<double>(row.gpus);
  const double seconds_per_gpu_hour = 3600.0 / gpus;
  configuration.runtime_s = {row.gpu_hours_mean * seconds_per_gpu_hour,
                             row.gpu_hours_std * seconds_per_gpu_hour,
                             std::nullopt,
                             0};
  configuration.device_hours = {row.gpu_hours_mean, row.gpu_hours_std, std::nullopt, 0};
  configuration.energy_kwh = {row.energy_kwh_mean, row.energy_kwh_std, std::nullopt, 0};
  configuration.energy_kwh_per_device_hour.mean = row.energy_kwh_mean / row.gpu_hours_mean;
  return configuration;
}

}  // namespace

Result<std::vector<RunSummary>> parse_run_summaries(std::string_view text, std::string_view name) {
  if (text.starts_with("\xEF\xBB\xBF")) {  // a byte order mark
    text.remove_prefix(3);
  }
  CsvReader reader(text, name);
  JOULESCALE_TRY_ASSIGN(const std::vector<Cell> header, reader.next_row());
  if (header.empty()) {
    return error_at({name, 1, 1},
                    fmt::format("the file is empty; its first line names the columns {}",
                                fmt::join(column_names(), ", ")));
  }
  JOULESCALE_TRY_ASSIGN(const std::vector<const Column*> columns, parse_header(header));

  std::vector<RunSummary> rows;
  using Identity = std::pair<std::string, decltype(configuration_of(RunSummary{}))>;
  std::map<Identity, std::size_t> line_of;
  while (true) {
    JOULESCALE_TRY_ASSIGN(const std::vector<Cell> cells, reader.next_row());
    if (cells.empty()) {
      break;
    }
    const Place& place = cells.front().place;
    if (rows.size() == kMaxRows) {
      return error_at(place, fmt::format("more than {} lines of summaries", kMaxRows));
    }
    if (cells.size() != columns.size()) {
      return error_at(
          cells.size() > columns.size() ? cells[columns.size()].place : place,
          fmt::format(
              "{} values where the first line names {} columns", cells.size(), columns.size()));
    }
    RunSummary row;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      JOULESCALE_TRY(set_member(row, *columns[i], cells[i]));
    }
    const auto [first, is_new] =
        line_of.emplace(Identity(row.series, configuration_of(row)), place.line);
    if (!is_new) {
      return error_at(place,
                      fmt::format("the same series and configuration as in line {}; give each once",
                                  first->second));
    }
    rows.push_back(std::move(row));
  }
  if (rows.empty()) {
    return error_at(reader.place(), "no line of summaries follows the first line");
  }
  return rows;
}

StudyAnalysis analyze_run_summaries(const std::vector<RunSummary>& summaries,
                                    const AnalysisOptions& options) {
  StudyAnalysis analysis;
  analysis.sample_spread = false;
  analysis.notes.emplace_back(
      "read from a file of run summaries, which does not say how energy was obtained: taken as "
      "measured; standard deviations are those of the file");

  std::vector<std::string> series;
  std::multimap<decltype(configuration_of(summaries.front())),
                std::pair<const RunSummary*, MeasuredConfiguration>>
      configurations;
  for (const RunSummary& row : summaries) {
    if (std::find(series.begin(), series.end(), row.series) == series.end()) {
      series.push_back(row.series);
    }
    const auto [begin, end] = configurations.equal_range(configuration_of(row));
    const auto same = std::find_if(
        begin, end, [&](const auto& entry) { return same_values(*entry.second.first, row); });
    if (same != end) {
      same->second.second.series.push_back(row.series);
      continue;
    }
    if (begin != end) {
      analysis.notes.push_back(fmt::format("{}: two series give different values; both count",
                                           describe(begin->second.second.key)));
    }
    configurations.emplace(configuration_of(row), std::pair(&row, configuration_from(row)));
  }
  for (auto& [identity, entry] : configurations) {
    analysis.configurations.push_back(std::move(entry.second));
  }
  for (std::string& name : series) {
    analysis.groups.push_back({std::move(name), {}, 0, {}});
  }
  add_groups_and_fits(analysis, options);
  return analysis;
}

}  // namespace joulescale
