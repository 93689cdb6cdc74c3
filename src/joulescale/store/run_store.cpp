// SPDX-License-Identifier: Apache-2.0
#include "joulescale/store/run_store.h"

#include <utility>

#include <fmt/format.h>

#include "joulescale/record/run_json.h"
#include "joulescale/store/run_directories.h"
#include "joulescale/store/sqlite/catalogue.h"

namespace joulescale {
namespace {

namespace fs = std::filesystem;

Result<StoredRuns> load_catalogue(const fs::path& file) {
  auto runs = read_catalogue(file);
  if (runs) {
    StoredRuns stored;
    stored.runs = std::move(runs).value();
    order_runs(stored);
    return stored;
  }
  const fs::path directory = file.has_parent_path() ? file.parent_path() : fs::path(".");
  if (!is_study_directory(directory)) {
    return std::move(runs).error();
  }
  StoredRuns stored = read_run_directories(directory);
  stored.problems.insert(
      stored.problems.begin(),
      fmt::format("{}; the run directories beside it were read instead", runs.error().text()));
  return stored;
}

Result<StoredRuns> load(const fs::path& source) {
  std::error_code code;
  const fs::file_status status = fs::status(source, code);
  if (status.type() == fs::file_type::directory) {
    return read_run_directories(source);
  }
  if (status.type() != fs::file_type::regular) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("'{}' does not exist or is neither a directory nor a file: give a "
                             "study directory, a run directory or a catalogue",
                             source.native()));
  }
  if (source.filename() == kRunFile) {
    return read_run_directories(source.has_parent_path() ? source.parent_path() : fs::path("."));
  }
  return load_catalogue(source);
}

}  // namespace

Result<LoadedRuns> load_runs(const fs::path& source) {
  JOULESCALE_TRY_ASSIGN(StoredRuns stored, load(source));
  if (stored.runs.empty()) {
    std::string reason =
        stored.problems.empty()
            ? fmt::format("expected {0}, */{0} or {1}/*/{0}", kRunFile, kRunsFolder)
            : stored.problems.front();
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("'{}' holds no finished run ({})", source.native(), reason));
  }
  LoadedRuns loaded;
  loaded.problems = std::move(stored.problems);
  for (StoredRun& run : stored.runs) {
    loaded.runs.push_back(std::move(run.record));
  }
  return loaded;
}

}  // namespace joulescale
