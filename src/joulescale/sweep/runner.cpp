// SPDX-License-Identifier: Apache-2.0
#include "joulescale/sweep/runner.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "joulescale/base/file.h"
#include "joulescale/base/output.h"
#include "joulescale/config/study_file.h"
#include "joulescale/sweep/launcher.h"
#include "joulescale/sweep/local/child_process.h"
#include "joulescale/sweep/local/signals.h"
#include "joulescale/sweep/plan.h"
#include "joulescale/sweep/progress.h"
#include "joulescale/sweep/study_directory.h"
#include "joulescale/sweep/workload_check.h"

namespace joulescale {
namespace {

namespace fs = std::filesystem;

constexpr auto kTick = std::chrono::seconds(1);
/// Statuses that another attempt cannot change: wrong usage, not executable, not found.
constexpr int kUsageStatus = 2;
constexpr int kNotExecutableStatus = 126;
constexpr int kNotFoundStatus = 127;

bool is_hopeless(int status) {
  return status == kUsageStatus || status == kNotExecutableStatus || status == kNotFoundStatus;
}

/// `text` as one word of a shell.
std::string shell_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    quoted += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return quoted + "'";
}

/// How one attempt came out.
struct Outcome {
  bool done = false;
  int status = 0;
  std::string detail;  // why it is not done
};

class Sweep {
 public:
  /// `total`: runs of the study.
  Sweep(const StudySpec& spec,
        const StudyDirectory& directory,
        Progress& progress,
        std::size_t total)
      : spec_(spec),
        directory_(directory),
        progress_(progress),
        total_(total),
        launcher_(make_launcher(spec.launcher.kind)) {}

  void learn_duration(const Configuration& configuration, Seconds duration) {
    estimate_.add(configuration, duration);
  }

  /// Runs them in their order, until a signal comes. An error is about the study directory.
  Result<void> run(const std::vector<PlannedRun>& runs,
                   const fs::path& working_directory,
                   const std::string& program);

  const std::vector<std::string>& failures() const { return failures_; }
  std::optional<int> stop_signal() const { return stop_signal_; }

 private:
  Result<void> complete(const PlannedRun& run, LaunchRequest& request);
  Result<Outcome> attempt(const PlannedRun& run, int number, LaunchRequest& request);
  int wait_for_end();
  /// `elapsed`: of the first of waiting_.
  std::optional<Seconds> time_left(Seconds elapsed) const;

  const StudySpec& spec_;
  const StudyDirectory& directory_;
  Progress& progress_;
  std::size_t total_;
  std::unique_ptr<Launcher> launcher_;
  SignalQueue signals_;
  TimeEstimate estimate_;
  std::vector<Configuration> waiting_;  // the current run first
  std::vector<std::string> failures_;
  std::optional<int> stop_signal_;
};

Result<void> Sweep::run(const std::vector<PlannedRun>& runs,
                        const fs::path& working_directory,
                        const std::string& program) {
  for (std::size_t i = 0; i < runs.size() && !stop_signal_; ++i) {
    waiting_.clear();
    for (std::size_t j = i; j < runs.size(); ++j) {
      waiting_.push_back(runs[j].configuration);
    }
    LaunchRequest request;
    request.argv = run_command(spec_, runs[i], directory_.paths_of(runs[i].name), program);
    request.working_directory = working_directory;
    JOULESCALE_TRY(complete(runs[i], request));
  }
  return {};
}

Result<void> Sweep::complete(const PlannedRun& run, LaunchRequest& request) {
  for (std::int64_t retry = 0; retry <= spec_.retries; ++retry) {
    JOULESCALE_TRY(directory_.move_earlier_attempt_aside(run.name));
    JOULESCALE_TRY(directory_.write_study_record(spec_, run));
    const int number = directory_.attempts(run.name) + 1;
    JOULESCALE_TRY_ASSIGN(const Outcome outcome, attempt(run, number, request));
    if (outcome.done || stop_signal_) {
      return {};
    }
    if (retry == spec_.retries || is_hopeless(outcome.status)) {
      failures_.push_back(fmt::format("{}: {}", run.name, outcome.detail));
      return {};
    }
  }
  return {};
}

Result<Outcome> Sweep::attempt(const PlannedRun& run, int number, LaunchRequest& request) {
  request.log_file = directory_.log_file(run.name, number);
  progress_.begin_run(run.name, number, total_ - waiting_.size() + 1);
  JOULESCALE_TRY(launcher_->start(request));
  const int status = wait_for_end();
  JOULESCALE_TRY(directory_.finish_attempt(run.name, number, {status, stop_signal_.has_value()}));
  const RunStatus after = directory_.inspect(spec_, run);
  const bool done = after.state == RunState::kDone;
  if (done) {
    estimate_.add(run.configuration, Seconds(after.duration_s.value_or(0.0)));
    waiting_.erase(waiting_.begin());
  }
  if (done || !stop_signal_) {
    progress_.end_run(after.detail, time_left(Seconds(0)));
  }
  JOULESCALE_TRY_ASSIGN(const std::string note, directory_.refresh_catalogue());
  if (!note.empty()) {
    progress_.say(note);
  }
  return Outcome{done, status, after.detail};
}

int Sweep::wait_for_end() {
  while (true) {
    if (const auto status = launcher_->poll()) {
      return *status;
    }
    progress_.tick(time_left(progress_.elapsed_of_run()));
    const auto info = signals_.wait(kTick);
    if (!info || info->si_signo == SIGCHLD) {
      continue;
    }
    if (stop_signal_) {
      launcher_->kill();
    } else {
      stop_signal_ = info->si_signo;
      progress_.say("stopping the current run; once more to kill it");
      launcher_->stop();
    }
  }
}

std::optional<Seconds> Sweep::time_left(Seconds elapsed) const {
  Seconds left;
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    const auto expected = estimate_.of(waiting_[i]);
    if (!expected) {
      return std::nullopt;
    }
    left += i == 0 ? std::max(*expected - elapsed, Seconds(0)) : *expected;
  }
  return left;
}

/// Says how the sweep ended; returns the exit status.
int conclude(const Sweep& sweep, const StudyDirectory& directory, std::size_t total) {
  const std::string path = shell_quoted(directory.path().native());
  if (sweep.stop_signal()) {
    print_text(
        stderr,
        fmt::format("joulescale sweep: interrupted; continue with: joulescale sweep run {}\n",
                    path));
    return 128 + *sweep.stop_signal();
  }
  for (const std::string& failure : sweep.failures()) {
    print_text(stderr, fmt::format("joulescale sweep: failed: {}\n", failure));
  }
  if (!sweep.failures().empty()) {
    print_text(
        stderr,
        fmt::format(
            "joulescale sweep: {} of {} runs failed; try them again with: joulescale sweep run "
            "{}\n",
            sweep.failures().size(),
            total,
            path));
    return 1;
  }
  return 0;
}

/// Refuses to go on in a directory with another study than its own.
Result<void> check_same_study(const StudyDirectory& directory, const StudySpec& spec) {
  JOULESCALE_TRY_ASSIGN(const StudySpec previous, read_study(directory.study_file()));
  const std::string reason = incompatible_change(previous, spec);
  if (!reason.empty()) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("'{}' holds another study: {}; give another --output, or continue "
                             "with: joulescale sweep run {}",
                             directory.path().native(),
                             reason,
                             shell_quoted(directory.path().native())));
  }
  return {};
}

/// The runs of a study, by whether they are done.
struct Work {
  std::vector<PlannedRun> done;
  std::vector<Seconds> durations;  // of done
  std::vector<PlannedRun> left;
};

Work divide(const StudySpec& spec, const StudyDirectory& directory) {
  Work work;
  for (PlannedRun& run : make_plan(spec).runs) {
    const RunStatus status = directory.inspect(spec, run);
    if (status.state == RunState::kDone) {
      work.done.push_back(std::move(run));
      work.durations.emplace_back(status.duration_s.value_or(0.0));
    } else {
      work.left.push_back(std::move(run));
    }
  }
  return work;
}

Result<int> run_work(const StudySpec& spec,
                     const StudyDirectory& directory,
                     const Work& work,
                     const fs::path& working_directory,
                     bool quiet) {
  JOULESCALE_TRY_ASSIGN(const fs::path program, own_program());
  const std::size_t total = work.done.size() + work.left.size();
  Progress progress(quiet ? nullptr : stderr, ::isatty(STDERR_FILENO) == 1, total);
  if (!work.done.empty()) {
    progress.say(fmt::format("{} of {} runs are done already", work.done.size(), total));
  }
  Sweep sweep(spec, directory, progress, total);
  for (std::size_t i = 0; i < work.done.size(); ++i) {
    JOULESCALE_TRY(directory.write_study_record(spec, work.done[i]));
    sweep.learn_duration(work.done[i].configuration, work.durations[i]);
  }
  JOULESCALE_TRY_ASSIGN(const std::string note, directory.refresh_catalogue());
  if (!note.empty()) {
    progress.say(note);
  }
  JOULESCALE_TRY(sweep.run(work.left, working_directory, program.native()));
  return conclude(sweep, directory, total);
}

}  // namespace

Result<int> run_sweep(const SweepRequest& request) {
  JOULESCALE_TRY_ASSIGN(const StudySpec spec, read_study(request.study_file));
  JOULESCALE_TRY_ASSIGN(const std::string toml, read_file(request.study_file));
  StudyDirectory directory(request.directory);
  const bool exists = directory.exists();
  std::error_code ignored;
  fs::path working_directory = fs::current_path(ignored);
  if (exists) {
    JOULESCALE_TRY(directory.open_for_writing());
    JOULESCALE_TRY(check_same_study(directory, spec));
    JOULESCALE_TRY_ASSIGN(working_directory, directory.working_directory());
  }
  const Work work = divide(spec, directory);
  if (!work.left.empty()) {
    JOULESCALE_TRY(check_workload(spec, work.left, request.study_file, working_directory));
  }
  if (!exists) {
    JOULESCALE_TRY(directory.open_for_writing());
  }
  JOULESCALE_TRY(directory.write_study(toml, spec, working_directory));
  return run_work(spec, directory, work, working_directory, request.quiet);
}

}  // namespace joulescale
