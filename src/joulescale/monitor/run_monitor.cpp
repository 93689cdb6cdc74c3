// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/run_monitor.h"

#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "joulescale/base/file.h"
#include "joulescale/monitor/idle_watch.h"
#include "joulescale/monitor/launcher.h"
#include "joulescale/monitor/marks/mark_writer.h"
#include "joulescale/monitor/monitor_plan.h"
#include "joulescale/monitor/monitor_records.h"
#include "joulescale/monitor/recorder.h"
#include "joulescale/monitor/sampler.h"
#include "joulescale/monitor/say.h"
#include "joulescale/monitor/session.h"

namespace joulescale {
namespace {

constexpr Nanoseconds kStartPatience = std::chrono::milliseconds(500);
constexpr Nanoseconds kRequirePatience = std::chrono::seconds(30);
constexpr Nanoseconds kReadPatience = std::chrono::milliseconds(100);
constexpr Nanoseconds kStopPatience = std::chrono::seconds(2);
constexpr Nanoseconds kLongestTickWait = std::chrono::milliseconds(150);
constexpr std::int64_t kTickWaitDivisor = 100;  // 1 % of the run's duration

std::vector<std::string> command_environment(const NodeDirectory& node) {
  std::vector<std::string> variables;
  const std::string prefix = fmt::format("{}=", kRunVariable);
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with(prefix)) {
      variables.emplace_back(*variable);
    }
  }
  variables.push_back(prefix + node.marks().native());
  return variables;
}

/// How long to wait for the counters to move once more after the command's end.
Nanoseconds last_tick_patience(const CommandRun& command) {
  return std::min(kLongestTickWait, (command.ended - command.began) / kTickWaitDivisor);
}

MonitorOutcome cancelled_by(int signal) { return {128 + signal, signal, false}; }

/// Waits for the sources. Nothing, if the command may start; else how the monitor ends.
std::optional<MonitorOutcome> wait_for_sources(const MonitorOptions& options,
                                               Sampler& sampler,
                                               Recorder& recorder,
                                               CommandSession& session,
                                               Clock& clock) {
  const Nanoseconds now = clock.monotonic_now();
  sampler.wait_ready(now + kStartPatience);
  if (!options.require.empty()) {
    std::set<Domain> missing = recorder.wait_for_domains(options.require, now);
    const Nanoseconds deadline = now + kRequirePatience;
    while (!missing.empty() && clock.monotonic_now() < deadline &&
           !sampler.wait_ready(clock.monotonic_now() + kReadPatience)) {
      missing = recorder.wait_for_domains(missing, clock.monotonic_now());
      if (const auto signal = session.cancelled()) {
        return cancelled_by(*signal);
      }
    }
    missing = recorder.wait_for_domains(missing, clock.monotonic_now() + kReadPatience);
    if (!missing.empty()) {
      std::vector<std::string_view> names;
      names.reserve(missing.size());
      for (const Domain domain : missing) {
        names.push_back(domain_name(domain));
      }
      say(
          fmt::format("required and not there: {}; the command is not started (joulescale sensors "
                      "shows what there is)",
                      fmt::join(names, ", ")));
      return MonitorOutcome{3, std::nullopt, false};
    }
  }
  if (const auto signal = session.cancelled()) {
    return cancelled_by(*signal);
  }
  return std::nullopt;
}

/// Measures the idle node and keeps in the rank's record when that was.
IdleWatch measure_baseline(const MonitorOptions& options,
                           const MonitorPlan& plan,
                           Sampler& sampler,
                           Recorder& recorder,
                           CommandSession& session,
                           Clock& clock) {
  const IdlePlan wanted{options.baseline, options.sources.root, !options.quiet};
  IdleWatch idle = watch_idle(wanted, sampler, recorder, session, clock);
  if (!idle.cancelled_by) {
    if (auto written = write_rank_record(plan, registration(plan, &idle), Durability::kNow);
        !written) {
      say("if the monitor is killed, the baseline is lost: " + written.error().text());
    }
  }
  return idle;
}

/// All that comes before the command: waits for the sources, then measures the idle node if that is
/// wanted. Nothing, if the command may start; else how the monitor ends.
std::optional<MonitorOutcome> prepare(const MonitorOptions& options,
                                      const MonitorPlan& plan,
                                      Sampler& sampler,
                                      Recorder& recorder,
                                      CommandSession& session,
                                      std::optional<IdleWatch>& idle,
                                      Clock& clock) {
  auto outcome = wait_for_sources(options, sampler, recorder, session, clock);
  if (!outcome && options.baseline > Nanoseconds(0)) {
    idle = measure_baseline(options, plan, sampler, recorder, session, clock);
    if (idle->cancelled_by) {
      outcome = cancelled_by(*idle->cancelled_by);
    }
  }
  return outcome;
}

/// Starts the thread that fills the journal; if none can be started, `sampler` is stopped.
Result<void> start_recorder(RotatingJournal journal,
                            const MonitorPlan& plan,
                            Sampler& sampler,
                            std::optional<Recorder>& recorder,
                            Clock& clock) {
  try {
    recorder.emplace(sampler, std::move(journal), clock, plan.claims);
  } catch (const std::system_error& error) {
    sampler.stop(kStopPatience);
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("cannot start a thread: {}", error.what()));
  }
  recorder->do_later([&plan] {  // else lost with the node
    sync_file(plan.joined.directory.launch_file());
    sync_file(plan.joined.directory.rank_file(plan.joined.rank));
  });
  return {};
}

/// Has the record of a rank that is killed tell of its hardware and its command.
void tell_facts_later(const MonitorOptions& options,
                      const MonitorPlan& plan,
                      const std::optional<IdleWatch>& idle,
                      pid_t command,
                      Recorder& recorder) {
  recorder.do_later([&options, &plan, &idle, command, &recorder] {
    RankRecordFile record = registration(plan, idle ? &*idle : nullptr);
    record.command = process_here(command);
    add_hardware_facts(options, recorder, record);
    // Should it fail, the record as it was stands, and the end will tell of the disk.
    static_cast<void>(write_rank_record(plan, record, Durability::kNow));
  });
}

/// Runs the command to its end, between the last readings before it and the last ones after it.
Result<void> run_command(const MonitorOptions& options,
                         const MonitorPlan& plan,
                         const std::optional<IdleWatch>& idle,
                         Sampler& sampler,
                         Recorder& recorder,
                         CommandSession& session,
                         Clock& clock) {
  sampler.read_now(clock.monotonic_now() + kReadPatience);
  JOULESCALE_TRY_ASSIGN(const bool started,
                        session.start(options.command, command_environment(plan.node_directory)));
  recorder.command_began(session.run().began);
  if (started) {
    tell_facts_later(options, plan, idle, session.command(), recorder);
    session.wait(options.wait_for_children);
  } else {
    say(session.exec_error());
  }
  const CommandRun& command = session.run();
  sampler.read_now(clock.monotonic_now() + kReadPatience);
  sampler.read_last_tick(clock.monotonic_now() + last_tick_patience(command));
  recorder.command_ended(command.ended,
                         command.status.signal.has_value(),
                         command.status.signal.value_or(command.status.exit_status.value_or(0)));
  return {};
}

void warn_of_launcher(const std::vector<std::string>& command) {
  if (is_wrapped_launcher(command)) {
    say(fmt::format(
        "'{}' is a launcher: of the nodes that it starts on, only this one is measured; to "
        "measure all, start the monitor inside it ({} joulescale monitor -- CMD)",
        command.front(),
        command.front()));
  }
}

/// `measured`: whether the command was started; else the launch is to be left.
Result<MonitorOutcome> run_in(const MonitorOptions& options,
                              const MonitorPlan& plan,
                              Clock& clock,
                              bool& measured) {
  auto journal = RotatingJournal::create(
      JournalFiles{plan.node_directory.journal(plan.joined.rank)}, options.journal);
  if (!journal) {
    return Error(ErrorCode::kInvalidArgument, journal.error().text());
  }
  warn_of_launcher(options.command);
  CommandSession session(clock);
  SourceOptions sources = options.sources;
  sources.processes = RankProcesses{plan.joined.rank, ::getpid(), std::max(session.witness(), 0)};
  Sampler sampler(make_sensors(sources, clock),
                  Nanoseconds(std::llround(1e9 / options.rate_hz)),
                  clock,
                  plan.claims);
  std::optional<IdleWatch> idle;  // before the recorder, whose tasks look at it
  std::optional<Recorder> recorder;
  JOULESCALE_TRY(start_recorder(std::move(journal).value(), plan, sampler, recorder, clock));
  if (auto ended = prepare(options, plan, sampler, *recorder, session, idle, clock)) {
    if (ended->signal) {
      say(fmt::format("ended by signal {} before the command was started; nothing is recorded",
                      *ended->signal));
    }
    ended->left_threads = !sampler.stop(kStopPatience);
    recorder->finish();
    return *ended;
  }
  if (auto ran = run_command(options, plan, idle, sampler, *recorder, session, clock); !ran) {
    sampler.stop(kStopPatience);
    return Error(ErrorCode::kInvalidArgument, ran.error().text());
  }
  measured = true;
  MonitorOutcome outcome;
  outcome.left_threads = !sampler.stop(kStopPatience);
  recorder->finish();
  const CommandRun& command = session.run();
  if (command.left_children) {
    say("processes of the command go on and are no longer measured (--wait-for-children waits)");
  }
  finish_records(options.quiet || !session.exec_error().empty(),
                 plan,
                 finished_rank(options, plan, idle ? &*idle : nullptr, command, *recorder),
                 *recorder);
  outcome.exit_status = command.status.exit_status.value_or(0);
  outcome.signal = command.status.signal;
  return outcome;
}

/// While it lives, a file that may not grow (ulimit -f) is an error to be told, not our end.
class NoFileSizeSignal {
 public:
  NoFileSizeSignal() {
    struct sigaction ignore{};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGXFSZ, &ignore, &before_);
  }
  ~NoFileSizeSignal() { ::sigaction(SIGXFSZ, &before_, nullptr); }
  NoFileSizeSignal(const NoFileSizeSignal&) = delete;
  NoFileSizeSignal& operator=(const NoFileSizeSignal&) = delete;

 private:
  struct sigaction before_{};
};

Result<MonitorPlan> plan_run(const MonitorOptions& options, Clock& clock) {
  const NoFileSizeSignal guard;
  return make_plan(options, clock);
}

}  // namespace

Result<MonitorOutcome> run_monitor(const MonitorOptions& options, Clock& clock) {
  ::mallopt(M_ARENA_MAX, 1);  // a heap for each thread would cost more memory than they use
  JOULESCALE_TRY_ASSIGN(const MonitorPlan plan, plan_run(options, clock));
  bool measured = false;
  auto outcome = run_in(options, plan, clock, measured);
  if (!measured) {
    leave_launch(plan.joined, plan.node_directory);
  }
  return outcome;
}

}  // namespace joulescale
