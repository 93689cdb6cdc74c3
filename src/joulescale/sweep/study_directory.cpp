// SPDX-License-Identifier: Apache-2.0
#include "joulescale/sweep/study_directory.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "joulescale/base/file.h"
#include "joulescale/base/text.h"
#include "joulescale/record/run_json.h"
#include "joulescale/store/run_directories.h"
#include "joulescale/store/sqlite/catalogue.h"
#include "joulescale/sweep/study_lock.h"

namespace joulescale {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kStudyFile = "study.toml";
constexpr const char* kConfigFile = "config.json";
constexpr const char* kLockFile = ".lock";
constexpr const char* kLogsFolder = "logs";
constexpr const char* kAttemptsFolder = "attempts";
constexpr std::array kFolders = {kRunsFolder, kLogsFolder, kAttemptsFolder, kStudyRecordsFolder};
constexpr auto kLockPatience = std::chrono::seconds(30);

/// Problems with the output are the user's to mend: exit status 2.
Error output_error(const Error& error) { return {ErrorCode::kInvalidArgument, error.text()}; }

/// Whether `directory` holds nothing but what a sweep leaves that was killed while it began.
bool is_empty_but_for_ours(const fs::path& directory) {
  std::error_code code;
  for (fs::directory_iterator entry(directory, code), end; !code && entry != end;
       entry.increment(code)) {
    const std::string name = entry->path().filename().native();
    std::error_code ignored;
    const bool empty_folder = std::find(kFolders.begin(), kFolders.end(), name) != kFolders.end() &&
                              fs::is_empty(entry->path(), ignored);
    const bool our_file = name == kLockFile || name == kConfigFile || name == kStudyFile ||
                          (name.starts_with('.') && name.ends_with(".tmp"));
    if (!our_file && !empty_folder) {
      return false;
    }
  }
  return true;
}

/// The number in "<run>.<number><ending>", 0 for any other name.
int attempt_number(const std::string& name, const std::string& run, std::string_view ending) {
  if (name.size() <= run.size() + 1 + ending.size() || !name.starts_with(run + ".") ||
      !name.ends_with(ending)) {
    return 0;
  }
  const std::string_view digits =
      std::string_view(name).substr(run.size() + 1, name.size() - run.size() - 1 - ending.size());
  return static_cast<int>(parse_int64(digits).value_or(0));
}

int highest_attempt(const fs::path& directory, const std::string& run, std::string_view ending) {
  int highest = 0;
  std::error_code code;
  for (fs::directory_iterator entry(directory, code), end; !code && entry != end;
       entry.increment(code)) {
    highest = std::max(highest, attempt_number(entry->path().filename().native(), run, ending));
  }
  return highest;
}

Result<void> write_if_changed(const fs::path& file, std::string_view text) {
  const auto present = read_file(file);
  if (present && *present == text) {
    return {};
  }
  return write_file_atomic(file, text);
}

bool is_record_of(const RunRecord& record, const StudySpec& spec, const PlannedRun& run) {
  const StudyRecord expected = study_record(spec, run);
  const bool same_study = record.study && record.study->name == expected.name &&
                          record.study->repetition == expected.repetition &&
                          record.study->axes == expected.axes;
  const bool same_seed =
      !record.training || !record.training->seed || *record.training->seed == run.seed;
  return same_study && same_seed;
}

std::string describe_end(const RunRecord& record) {
  return record.signal ? fmt::format("ended by signal {}", *record.signal)
                       : fmt::format("ended with status {}", record.exit_status.value_or(-1));
}

/// Whether somebody ended the run; a run that fails by itself does not end in these ways.
bool was_stopped(const RunRecord& record) {
  constexpr int kSignalStatus = 128;  // as a shell gives signals
  const int signal = record.signal.value_or(record.exit_status.value_or(0) - kSignalStatus);
  return signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
}

}  // namespace

std::string_view run_state_name(RunState state) {
  switch (state) {
    case RunState::kPlanned:
      return "planned";
    case RunState::kDone:
      return "done";
    case RunState::kFailed:
      return "failed";
    case RunState::kInterrupted:
      return "interrupted";
  }
  return "unknown";
}

StudyDirectory::StudyDirectory(const fs::path& path) {
  std::error_code ignored;
  path_ = fs::absolute(path, ignored).lexically_normal();
  if (!path_.has_filename()) {
    path_ = path_.parent_path();  // of "DIR/"
  }
}

fs::path StudyDirectory::catalogue_file() const { return path_ / kCatalogueFile; }

fs::path StudyDirectory::run_directory(const std::string& run) const {
  return path_ / kRunsFolder / run;
}

fs::path StudyDirectory::log_file(const std::string& run, int attempt) const {
  return path_ / kLogsFolder / fmt::format("{}.{}.log", run, attempt);
}

RunPaths StudyDirectory::paths_of(const std::string& run) const {
  return {run_directory(run).native(), (path_ / kStudyRecordsFolder / (run + ".json")).native()};
}

bool StudyDirectory::exists() const {
  std::error_code ignored;
  return fs::exists(path_ / kConfigFile, ignored) && fs::exists(study_file(), ignored);
}

Result<void> StudyDirectory::open_for_writing() {
  std::error_code code;
  made_by_us_ = fs::create_directories(path_, code);
  if (code) {
    return output_error(io_error("make the directory", path_.native(), code.value()));
  }
  is_new_ = !exists();
  if (is_new_ && !is_empty_but_for_ours(path_)) {
    return Error(
        ErrorCode::kInvalidArgument,
        fmt::format("'{}' is not empty and holds no study: give another --output", path_.native()));
  }
  JOULESCALE_TRY_ASSIGN(lock_, lock_study(path_ / kLockFile, kLockPatience));
  if (auto made = make_folders(); !made) {
    remove_traces();
    return made;
  }
  return {};
}

Result<void> StudyDirectory::make_folders() {
  for (const char* folder : kFolders) {
    std::error_code code;
    fs::create_directories(path_ / folder, code);
    if (code) {
      return output_error(io_error("make the directory", (path_ / folder).native(), code.value()));
    }
  }
  return {};
}

void StudyDirectory::remove_traces() const {
  if (!is_new_) {
    return;
  }
  std::error_code ignored;
  fs::remove(path_ / kConfigFile, ignored);
  for (const char* folder : kFolders) {
    fs::remove(path_ / folder, ignored);  // fails where somebody put something in
  }
  fs::remove(path_ / kLockFile, ignored);
  if (made_by_us_) {
    fs::remove(path_, ignored);
  }
}

Result<void> StudyDirectory::write_study(std::string_view toml,
                                         const StudySpec& spec,
                                         const fs::path& working_directory) {
  Json config;
  config["working_directory"] = to_valid_utf8(working_directory.native());
  config["study"] = Json::parse(format_study_spec(spec), nullptr, false);
  auto written = write_if_changed(path_ / kConfigFile, config.dump(2) + "\n");
  if (written) {
    written = write_if_changed(study_file(), toml);
  }
  if (!written) {
    remove_traces();
    return output_error(written.error());
  }
  return {};
}

Result<fs::path> StudyDirectory::working_directory() const {
  const fs::path file = path_ / kConfigFile;
  JOULESCALE_TRY_ASSIGN(const std::string text, read_file(file));
  const Json config = Json::parse(text, nullptr, false);
  if (!config.is_object() || !config.contains("working_directory") ||
      !config["working_directory"].is_string()) {
    return Error(ErrorCode::kConfig,
                 fmt::format("'{}' is damaged; give the study file and --output '{}' to write it "
                             "anew",
                             file.native(),
                             path_.native()));
  }
  return fs::path(config["working_directory"].get<std::string>());
}

bool StudyDirectory::locked_by_another() const { return is_locked(path_ / kLockFile); }

std::optional<AttemptRecord> StudyDirectory::read_attempt(const std::string& run,
                                                          int attempt) const {
  const auto text = read_file(path_ / kLogsFolder / fmt::format("{}.{}.json", run, attempt));
  const Json json = text ? Json::parse(*text, nullptr, false) : Json();
  if (!json.is_object() || !json.contains("status") || !json["status"].is_number_integer()) {
    return std::nullopt;
  }
  return AttemptRecord{json["status"].get<int>(), json.value("interrupted", Json()) == true};
}

RunStatus StudyDirectory::inspect(const StudySpec& spec, const PlannedRun& run) const {
  RunStatus status;
  status.attempts = attempts(run.name);
  const auto attempt = read_attempt(run.name, status.attempts);
  const fs::path directory = run_directory(run.name);
  const auto record = read_run_record(directory / kRunFile);
  if (record && succeeded(*record) && is_record_of(*record, spec, run)) {
    status.state = RunState::kDone;
    status.duration_s = record->duration.value();
    return status;
  }
  std::error_code ignored;
  if (attempt && !attempt->interrupted) {
    status.state = RunState::kFailed;
    status.detail = fmt::format("ended with status {}{}; see {}",
                                attempt->status,
                                attempt->status == 0 ? " but left no whole run.json" : "",
                                log_file(run.name, status.attempts).native());
  } else if (attempt) {
    status.state = RunState::kInterrupted;
    status.detail = "stopped with the sweep";
  } else if (record && succeeded(*record)) {
    status.state = RunState::kFailed;
    status.detail =
        fmt::format("{} belongs to another configuration", (directory / kRunFile).native());
  } else if (record && was_stopped(*record)) {
    status.state = RunState::kInterrupted;
    status.detail = "stopped when the sweep was killed";
  } else if (record) {
    status.state = RunState::kFailed;
    status.detail = describe_end(*record);
  } else if (fs::exists(directory, ignored) || status.attempts > 0) {
    status.state = RunState::kInterrupted;
    status.detail = "no whole run.json";
  }
  return status;
}

int StudyDirectory::attempts(const std::string& run) const {
  return std::max(highest_attempt(path_ / kLogsFolder, run, ".log"),
                  highest_attempt(path_ / kAttemptsFolder, run, ""));
}

Result<void> StudyDirectory::move_earlier_attempt_aside(const std::string& run) const {
  const fs::path directory = run_directory(run);
  std::error_code code;
  if (!fs::exists(fs::symlink_status(directory, code))) {
    return {};
  }
  const auto aside = [&](int attempt) {
    return path_ / kAttemptsFolder / fmt::format("{}.{}", run, attempt);
  };
  int attempt = std::max(attempts(run), 1);
  while (fs::exists(fs::symlink_status(aside(attempt), code))) {
    ++attempt;
  }
  fs::rename(directory, aside(attempt), code);
  if (code) {
    return io_error("move aside", directory.native(), code.value());
  }
  return {};
}

Result<void> StudyDirectory::write_study_record(const StudySpec& spec,
                                                const PlannedRun& run) const {
  const std::string file = paths_of(run.name).study_record;
  return write_if_changed(file, format_study_record(study_record(spec, run)));
}

Result<void> StudyDirectory::finish_attempt(const std::string& run,
                                            int attempt,
                                            AttemptRecord record) const {
  Json json;
  json["status"] = record.status;
  json["interrupted"] = record.interrupted;
  return write_file_atomic(path_ / kLogsFolder / fmt::format("{}.{}.json", run, attempt),
                           json.dump() + "\n");
}

Result<std::string> StudyDirectory::refresh_catalogue() const {
  const auto old = read_catalogue(catalogue_file());
  std::string note;
  if (!old && old.error().code() != ErrorCode::kIo) {
    note = fmt::format("{}; it is made anew from the run directories", old.error().text());
  }
  JOULESCALE_TRY(write_catalogue(catalogue_file(), read_run_directories(path_).runs));
  return note;
}

}  // namespace joulescale
