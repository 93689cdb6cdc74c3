// SPDX-License-Identifier: Apache-2.0
// The directory of one study (layout: docs/studies.md): its files, its lock, and what they say
// about each run. State is never stored: it is read from what the runs left behind.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "joulescale/base/error.h"
#include "joulescale/base/unique_fd.h"
#include "joulescale/config/study_spec.h"
#include "joulescale/sweep/plan.h"

namespace joulescale {

enum class RunState {
  kPlanned,      // no attempt yet
  kDone,         // run.json is whole, status 0, and of this configuration
  kFailed,       // the last attempt ended, but not well
  kInterrupted,  // the last attempt was stopped or killed
};

/// "planned", "done", "failed", "interrupted".
std::string_view run_state_name(RunState state);

struct RunStatus {
  RunState state = RunState::kPlanned;
  int attempts = 0;
  std::string detail;                // why it is not done; else ""
  std::optional<double> duration_s;  // kDone
};

/// How one attempt ended, kept beside its log.
struct AttemptRecord {
  int status = 0;  // as a shell gives it
  bool interrupted = false;
};

class StudyDirectory {
 public:
  /// `path` becomes absolute.
  explicit StudyDirectory(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path study_file() const { return path_ / "study.toml"; }
  std::filesystem::path catalogue_file() const;
  std::filesystem::path run_directory(const std::string& run) const;
  std::filesystem::path log_file(const std::string& run, int attempt) const;
  RunPaths paths_of(const std::string& run) const;

  /// Whether a study lies there.
  bool exists() const;

  /// Makes the directory and its subdirectories and takes the lock. Errors (kInvalidArgument,
  /// exit status 2): not ours and not empty, not writable, or locked: the holder is named. A holder
  /// that died leaves the lock to its run's processes for a moment: up to 30 s are waited for them.
  Result<void> open_for_writing();

  /// Puts study.toml and config.json in place. On an error nothing of a new study is left.
  Result<void> write_study(std::string_view toml,
                           const StudySpec& spec,
                           const std::filesystem::path& working_directory);
  /// The directory in which runs start, as write_study() was told.
  Result<std::filesystem::path> working_directory() const;

  /// Whether another process holds the lock now.
  bool locked_by_another() const;

  RunStatus inspect(const StudySpec& spec, const PlannedRun& run) const;

  /// Number of attempts so far, from their logs and directories.
  int attempts(const std::string& run) const;
  /// Moves what an earlier attempt left in the run's directory to attempts/.
  Result<void> move_earlier_attempt_aside(const std::string& run) const;
  /// Writes the run's study record, unless it is there as it should be.
  Result<void> write_study_record(const StudySpec& spec, const PlannedRun& run) const;
  /// Records the end of an attempt.
  Result<void> finish_attempt(const std::string& run, int attempt, AttemptRecord record) const;

  /// Makes the catalogue anew from the run directories. The text says so when an old one was
  /// damaged.
  Result<std::string> refresh_catalogue() const;

 private:
  Result<void> make_folders();
  void remove_traces() const;
  std::optional<AttemptRecord> read_attempt(const std::string& run, int attempt) const;

  std::filesystem::path path_;
  UniqueFd lock_;
  bool is_new_ = false;      // no study lay there before
  bool made_by_us_ = false;  // nor did the directory exist
};

}  // namespace joulescale
