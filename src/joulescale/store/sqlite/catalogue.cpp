// SPDX-License-Identifier: Apache-2.0
#include "joulescale/store/sqlite/catalogue.h"

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <sqlite3.h>

#include "joulescale/base/file.h"
#include "joulescale/record/run_json.h"

namespace joulescale {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSqliteMagic("SQLite format 3\0", 16);  // sqlite.org/fileformat2.html
constexpr int kApplicationId = 0x6A6F756C;                         // "joul"

constexpr const char* kSchema = R"sql(
CREATE TABLE runs (
  id TEXT PRIMARY KEY, directory TEXT NOT NULL, study TEXT, series TEXT, repetition INTEGER,
  devices INTEGER, device_kind TEXT, local_batch_size INTEGER, global_batch_size INTEGER,
  accumulation_steps INTEGER, model TEXT, dataset TEXT, epochs INTEGER, samples INTEGER,
  updates INTEGER, seed INTEGER, started_at TEXT, duration_s REAL, device_hours REAL,
  exit_status INTEGER, signal INTEGER, energy_total_j REAL, energy_uncertainty_j REAL,
  energy_estimated_j REAL, energy_with_estimates_j REAL, mean_power_w REAL, peak_power_w REAL,
  top1_error_percent REAL, top5_error_percent REAL, loss REAL, host TEXT, gpu_model TEXT,
  cpu_model TEXT, version TEXT, run_json TEXT NOT NULL);
CREATE TABLE series_members (
  run_id TEXT NOT NULL REFERENCES runs(id), study TEXT NOT NULL, series TEXT NOT NULL,
  PRIMARY KEY (run_id, series));
CREATE TABLE components (
  run_id TEXT NOT NULL REFERENCES runs(id), component TEXT NOT NULL, energy_j REAL NOT NULL,
  uncertainty_j REAL, provenance TEXT NOT NULL, PRIMARY KEY (run_id, component));
CREATE TABLE phases (
  run_id TEXT NOT NULL REFERENCES runs(id), phase TEXT NOT NULL, seconds REAL NOT NULL,
  energy_j REAL, estimated_j REAL, PRIMARY KEY (run_id, phase));
)sql";

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

Result<Database> open_memory_database() {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(
      ":memory:", &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database(raw);
  if (code != SQLITE_OK) {
    return Error(ErrorCode::kInternal, fmt::format("open SQLite: {}", sqlite3_errstr(code)));
  }
  return database;
}

Error sqlite_error(sqlite3* database) {
  return {ErrorCode::kInternal, fmt::format("SQLite: {}", sqlite3_errmsg(database))};
}

Result<void> execute(sqlite3* database, const std::string& sql) {
  if (sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return sqlite_error(database);
  }
  return {};
}

Result<Statement> prepare(sqlite3* database, const std::string& sql) {
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(database, sql.c_str(), -1, &raw, nullptr) != SQLITE_OK) {
    return sqlite_error(database);
  }
  return Statement(raw);
}

/// One row of one table: values are bound in the order of the columns; an absent value is NULL.
class Row {
 public:
  explicit Row(sqlite3_stmt* statement) : statement_(statement) {}
  Row& add(const std::string& value) {
    sqlite3_bind_text64(
        statement_, ++column_, value.data(), value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
    return *this;
  }
  Row& add(std::int64_t value) {
    sqlite3_bind_int64(statement_, ++column_, value);
    return *this;
  }
  Row& add(int value) { return add(std::int64_t{value}); }
  Row& add(double value) {
    sqlite3_bind_double(statement_, ++column_, value);
    return *this;
  }
  template <typename Tag>
  Row& add(Unit<Tag> value) {
    return add(value.value());
  }
  template <typename T>
  Row& add(const std::optional<T>& value) {
    if (value) {
      return add(*value);
    }
    sqlite3_bind_null(statement_, ++column_);
    return *this;
  }
  Result<void> insert() {
    const int code = sqlite3_step(statement_);
    sqlite3_reset(statement_);
    column_ = 0;
    if (code != SQLITE_DONE) {
      return sqlite_error(sqlite3_db_handle(statement_));
    }
    return {};
  }

 private:
  sqlite3_stmt* statement_;
  int column_ = 0;
};

/// An INSERT with as many places as the table has columns.
Result<Statement> prepare_insert(sqlite3* database, std::string_view table, int columns) {
  std::string places = "?";
  for (int i = 1; i < columns; ++i) {
    places += ",?";
  }
  return prepare(database, fmt::format("INSERT INTO {} VALUES ({})", table, places));
}

std::optional<std::int64_t> axis_or(const RunRecord& run,
                                    std::string_view name,
                                    const std::optional<std::int64_t>& other) {
  const auto value = integer_axis(run, name);
  return value ? value : other;
}

std::optional<std::string> if_named(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

constexpr int kRunColumns = 35;

Result<void> insert_run(sqlite3_stmt* statement, const StoredRun& stored) {
  const RunRecord& run = stored.record;
  const TrainingRecord training = run.training.value_or(TrainingRecord{});
  std::optional<std::string> study;
  std::optional<std::string> series;
  std::optional<int> repetition;
  if (run.study) {
    study = run.study->name;
    series = run.study->series;
    repetition = run.study->repetition;
  }
  const auto host =
      run.nodes.empty() ? std::nullopt : std::optional<std::string>(run.nodes.front().host);
  Row row(statement);
  row.add(run.id).add(stored.directory).add(study).add(series).add(repetition);
  row.add(run.devices.count).add(run.devices.kind);
  row.add(axis_or(run, "local_batch_size", training.local_batch_size));
  row.add(axis_or(run, "global_batch_size", training.global_batch_size));
  row.add(axis_or(run, "accumulation_steps", training.accumulation_steps));
  row.add(training.model).add(training.dataset).add(training.epochs).add(training.samples);
  row.add(training.updates).add(training.seed).add(run.started_at).add(run.duration);
  row.add(run.device_hours).add(run.exit_status).add(run.signal);
  row.add(run.energy.total).add(run.energy.total_uncertainty).add(run.energy.estimated);
  row.add(run.energy.total_with_estimates).add(run.power.mean).add(run.power.peak);
  row.add(training.top1_error).add(training.top5_error).add(training.loss);
  row.add(host).add(run.hardware.gpu_model).add(run.hardware.cpu_model);
  row.add(if_named(run.version)).add(stored.json);
  return row.insert();
}

Result<void> insert_details(sqlite3* database, std::span<const StoredRun> runs) {
  JOULESCALE_TRY_ASSIGN(const Statement series, prepare_insert(database, "series_members", 3));
  JOULESCALE_TRY_ASSIGN(const Statement components, prepare_insert(database, "components", 5));
  JOULESCALE_TRY_ASSIGN(const Statement phases, prepare_insert(database, "phases", 5));
  for (const StoredRun& stored : runs) {
    const RunRecord& run = stored.record;
    if (run.study) {
      std::vector<std::string> names = run.study->more_series;
      names.insert(names.begin(), run.study->series);
      for (const std::string& name : names) {
        JOULESCALE_TRY(Row(series.get()).add(run.id).add(run.study->name).add(name).insert());
      }
    }
    for (const auto& [name, component] : run.energy.components) {
      Row row(components.get());
      row.add(run.id).add(name).add(component.energy).add(component.uncertainty);
      row.add(std::string(provenance_name(component.provenance)));
      JOULESCALE_TRY(row.insert());
    }
    if (run.training) {
      for (const auto& [name, phase] : run.training->phases) {
        Row row(phases.get());
        row.add(run.id).add(name).add(phase.duration).add(phase.energy).add(phase.estimated);
        JOULESCALE_TRY(row.insert());
      }
    }
  }
  return {};
}

Result<void> fill(sqlite3* database, std::span<const StoredRun> runs) {
  JOULESCALE_TRY(execute(database, kSchema));
  JOULESCALE_TRY(execute(database,
                         fmt::format("PRAGMA user_version = {}; PRAGMA application_id = {}; BEGIN",
                                     kCatalogueVersion,
                                     kApplicationId)));
  JOULESCALE_TRY_ASSIGN(const Statement statement, prepare_insert(database, "runs", kRunColumns));
  for (const StoredRun& run : runs) {
    JOULESCALE_TRY(insert_run(statement.get(), run));
  }
  JOULESCALE_TRY(insert_details(database, runs));
  return execute(database, "COMMIT");
}

Error damaged(const fs::path& file, std::string_view reason) {
  return {ErrorCode::kCorruptData,
          fmt::format("catalogue '{}' is damaged ({})", file.native(), reason)};
}

/// The first column of the first row of a query.
Result<std::string> query_text(sqlite3* database, const char* sql) {
  JOULESCALE_TRY_ASSIGN(const Statement statement, prepare(database, sql));
  if (sqlite3_step(statement.get()) != SQLITE_ROW) {
    return sqlite_error(database);
  }
  const unsigned char* text = sqlite3_column_text(statement.get(), 0);
  return std::string(text == nullptr ? "" : reinterpret_cast<const char*>(text));
}

Result<void> check_catalogue(sqlite3* database, const fs::path& file) {
  const auto check = query_text(database, "PRAGMA quick_check(1)");
  if (!check || *check != "ok") {
    return damaged(file, check ? *check : check.error().text());
  }
  JOULESCALE_TRY_ASSIGN(const std::string application,
                        query_text(database, "PRAGMA application_id"));
  JOULESCALE_TRY_ASSIGN(const std::string version, query_text(database, "PRAGMA user_version"));
  if (application != std::to_string(kApplicationId)) {
    return Error(
        ErrorCode::kInvalidArgument,
        fmt::format("'{}' is an SQLite file, but no catalogue of joulescale", file.native()));
  }
  if (version != std::to_string(kCatalogueVersion)) {
    return Error(ErrorCode::kUnsupported,
                 fmt::format("catalogue '{}' has version {}, this program reads version {}",
                             file.native(),
                             version,
                             kCatalogueVersion));
  }
  return {};
}

/// An in-memory database of the bytes; SQLite frees its copy of them.
Result<Database> deserialize(const std::string& bytes) {
  JOULESCALE_TRY_ASSIGN(Database database, open_memory_database());
  auto* copy = static_cast<unsigned char*>(sqlite3_malloc64(bytes.size()));
  if (copy == nullptr) {
    return Error(ErrorCode::kInternal, "SQLite: out of memory");
  }
  std::memcpy(copy, bytes.data(), bytes.size());
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  const unsigned flags = SQLITE_DESERIALIZE_READONLY | SQLITE_DESERIALIZE_FREEONCLOSE;
  if (sqlite3_deserialize(database.get(), "main", copy, size, size, flags) != SQLITE_OK) {
    return sqlite_error(database.get());
  }
  return database;
}

}  // namespace

Result<void> write_catalogue(const fs::path& file, std::span<const StoredRun> runs) {
  JOULESCALE_TRY_ASSIGN(const Database database, open_memory_database());
  JOULESCALE_TRY(fill(database.get(), runs));
  sqlite3_int64 size = 0;
  const std::unique_ptr<unsigned char, decltype(&sqlite3_free)> bytes(
      sqlite3_serialize(database.get(), "main", &size, 0), &sqlite3_free);
  if (bytes == nullptr) {
    return Error(ErrorCode::kInternal, "SQLite: out of memory");
  }
  return write_file_atomic(
      file, {reinterpret_cast<const char*>(bytes.get()), static_cast<std::size_t>(size)});
}

Result<std::vector<StoredRun>> read_catalogue(const fs::path& file) {
  JOULESCALE_TRY_ASSIGN(const std::string bytes, read_file(file));
  if (bytes.size() >= kSqliteMagic.size() && !bytes.starts_with(kSqliteMagic)) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("'{}' is no catalogue (SQLite file)", file.native()));
  }
  if (bytes.size() < kSqliteMagic.size()) {
    return damaged(file, "truncated");
  }
  JOULESCALE_TRY_ASSIGN(const Database database, deserialize(bytes));
  const auto size = query_text(
      database.get(), "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size");
  if (!size || *size != std::to_string(bytes.size())) {
    return damaged(file, "truncated");
  }
  JOULESCALE_TRY(check_catalogue(database.get(), file));
  auto statement = prepare(database.get(), "SELECT directory, run_json FROM runs ORDER BY id");
  if (!statement) {
    return damaged(file, statement.error().text());
  }
  std::vector<StoredRun> runs;
  int code = SQLITE_ROW;
  while ((code = sqlite3_step(statement->get())) == SQLITE_ROW) {
    std::array<std::string, 2> columns;
    for (int i = 0; i < 2; ++i) {
      const void* text = sqlite3_column_blob(statement->get(), i);
      const int length = sqlite3_column_bytes(statement->get(), i);
      columns.at(static_cast<std::size_t>(i))
          .assign(static_cast<const char*>(text), static_cast<std::size_t>(length));
    }
    auto record = parse_run_record(columns[1]);
    if (!record) {
      return damaged(file, record.error().text());
    }
    runs.push_back({std::move(columns[0]), std::move(columns[1]), std::move(record).value()});
  }
  if (code != SQLITE_DONE) {
    return damaged(file, sqlite3_errmsg(database.get()));
  }
  return runs;
}

}  // namespace joulescale
