// SPDX-License-Identifier: Apache-2.0
#include "joulescale/store/run_directories.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "joulescale/base/file.h"
#include "joulescale/record/run_json.h"

namespace joulescale {
namespace {

namespace fs = std::filesystem;

/// The value of an integer axis of the study, else of the training record, else 0.
std::int64_t axis_or(const RunRecord& run,
                     std::string_view axis,
                     std::optional<std::int64_t> TrainingRecord::* field) {
  if (const auto value = integer_axis(run, axis)) {
    return *value;
  }
  return run.training ? (*run.training.*field).value_or(0) : 0;
}

auto order_key(const RunRecord& run) {
  return std::make_tuple(run.study ? run.study->name : std::string(),
                         integer_axis(run, "devices").value_or(run.devices.count),
                         axis_or(run, "local_batch_size", &TrainingRecord::local_batch_size),
                         axis_or(run, "global_batch_size", &TrainingRecord::global_batch_size),
                         axis_or(run, "accumulation_steps", &TrainingRecord::accumulation_steps),
                         run.study ? run.study->repetition : 0,
                         run.started_at,
                         run.id);
}

/// The series of a run as the study has them now (see kStudyRecordsFolder).
void refresh_series(StoredRun& run, const fs::path& study_record_file) {
  if (!run.record.study) {
    return;
  }
  const auto text = read_file(study_record_file);
  const auto current = text ? parse_study_record(*text) : Result<StudyRecord>(text.error());
  StudyRecord& study = *run.record.study;
  if (!current || current->name != study.name || current->axes != study.axes ||
      current->repetition != study.repetition) {
    return;
  }
  if (current->series != study.series || current->more_series != study.more_series) {
    study = *current;
    run.json = format_run_record(run.record);
  }
}

Result<StoredRun> read_run_directory(const fs::path& directory, std::string name) {
  const fs::path file = directory / kRunFile;
  JOULESCALE_TRY_ASSIGN(std::string text, read_file(file));
  auto record = parse_run_record(text);
  if (!record) {
    return std::move(record).error().with_context(file.native());
  }
  if (record->devices.count < 1) {
    return Error(ErrorCode::kCorruptData,
                 fmt::format("{}: 'devices.count' is not 1 or more", file.native()));
  }
  return StoredRun{std::move(name), std::move(text), std::move(record).value()};
}

/// Adds the run of one directory; a directory that is no run at all is passed over in silence.
void add_run(const fs::path& directory,
             std::string name,
             const fs::path* study_directory,
             StoredRuns& stored) {
  std::error_code code;
  if (fs::symlink_status(directory / kRunFile, code).type() == fs::file_type::not_found) {
    if (study_directory != nullptr || fs::exists(directory / "launch.json", code)) {
      stored.problems.push_back(
          fmt::format("'{}' has no {}: the run is not finished", directory.native(), kRunFile));
    }
    return;
  }
  auto run = read_run_directory(directory, std::move(name));
  if (!run) {
    stored.problems.push_back(run.error().text());
    return;
  }
  if (study_directory != nullptr) {
    const std::string file = directory.filename().native() + ".json";
    refresh_series(*run, *study_directory / kStudyRecordsFolder / file);
  }
  stored.runs.push_back(std::move(run).value());
}

}  // namespace

std::optional<std::int64_t> integer_axis(const RunRecord& run, std::string_view name) {
  if (!run.study) {
    return std::nullopt;
  }
  const auto found = run.study->axes.find(std::string(name));
  if (found == run.study->axes.end()) {
    return std::nullopt;
  }
  const auto* value = std::get_if<std::int64_t>(&found->second);
  return value != nullptr ? std::optional(*value) : std::nullopt;
}

bool is_study_directory(const fs::path& directory) {
  std::error_code ignored;
  return fs::is_directory(directory / kRunsFolder, ignored);
}

std::vector<fs::path> run_directories_below(const fs::path& directory,
                                            std::vector<std::string>& problems) {
  const fs::path folder = is_study_directory(directory) ? directory / kRunsFolder : directory;
  std::vector<fs::path> found;
  std::error_code code;
  for (fs::directory_iterator entry(folder, code), end; !code && entry != end;
       entry.increment(code)) {
    std::error_code ignored;
    if (entry->is_directory(ignored) && !entry->path().filename().native().starts_with('.')) {
      found.push_back(entry->path());
    }
  }
  if (code) {
    problems.push_back(io_error("list", folder.native(), code.value()).text());
  }
  std::sort(found.begin(), found.end());
  return found;
}

StoredRuns read_run_directories(const fs::path& directory) {
  StoredRuns stored;
  std::error_code ignored;
  if (fs::exists(directory / kRunFile, ignored)) {
    add_run(directory, directory.native(), nullptr, stored);
  } else {
    const bool is_study = is_study_directory(directory);
    for (const fs::path& run : run_directories_below(directory, stored.problems)) {
      add_run(
          run, run.lexically_relative(directory).native(), is_study ? &directory : nullptr, stored);
    }
  }
  order_runs(stored);
  return stored;
}

void order_runs(StoredRuns& stored) {
  std::sort(stored.runs.begin(), stored.runs.end(), [](const StoredRun& a, const StoredRun& b) {
    return std::make_pair(order_key(a.record), a.directory) <
           std::make_pair(order_key(b.record), b.directory);
  });
  std::set<std::string> ids;
  std::vector<StoredRun> distinct;
  for (StoredRun& run : stored.runs) {
    if (ids.insert(run.record.id).second) {
      distinct.push_back(std::move(run));
    } else {
      stored.problems.push_back(
          fmt::format("'{}' holds run {} once more: it is left out", run.directory, run.record.id));
    }
  }
  stored.runs = std::move(distinct);
}

}  // namespace joulescale
