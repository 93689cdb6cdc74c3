// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/run_monitor.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <system_error>

#include <fmt/format.h>

#include "joulescale/base/file.h"
#include "joulescale/base/output.h"
#include "joulescale/monitor/environment.h"
#include "joulescale/monitor/hardware.h"
#include "joulescale/monitor/launch.h"
#include "joulescale/monitor/launcher.h"
#include "joulescale/monitor/marks/mark_writer.h"
#include "joulescale/monitor/merge.h"
#include "joulescale/monitor/node_finish.h"
#include "joulescale/monitor/recorder.h"
#include "joulescale/monitor/sampler.h"
#include "joulescale/monitor/session.h"
#include "joulescale/monitor/source_claims.h"
#include "joulescale/monitor/summary.h"

namespace joulescale {
namespace {

namespace fs = std::filesystem;

constexpr Nanoseconds kStartPatience = std::chrono::milliseconds(500);
constexpr Nanoseconds kRequirePatience = std::chrono::seconds(30);
constexpr Nanoseconds kReadPatience = std::chrono::milliseconds(100);
constexpr Nanoseconds kStopPatience = std::chrono::seconds(2);
constexpr Nanoseconds kLongestTickWait = std::chrono::milliseconds(150);
constexpr std::int64_t kTickWaitDivisor = 100;  // 1 % of the run's duration

void say(const std::string& line) {
  print_text(stderr, fmt::format("joulescale monitor: {}\n", line));
}

/// Everything that is settled before the command starts.
struct Plan {
  EnvironmentMap environment;
  NodeIdentity node;
  JoinedLaunch joined;
  NodeDirectory node_directory;
  std::shared_ptr<SourceClaims> claims;  // none for a launch of one process
};

/// What this process would write into launch.json if it is the launch's first.
Result<LaunchInfo> make_launch(const MonitorOptions& options,
                               const EnvironmentMap& environment,
                               const NodeIdentity& node,
                               const std::optional<LauncherRank>& rank,
                               Clock& clock) {
  LaunchInfo launch;
  launch.id = random_launch_id();
  launch.launcher = rank ? rank->launcher : "none";
  if (rank && !rank->key.empty()) {
    launch.key = rank->key;
  }
  if (!options.launch_id.empty()) {
    launch.key += (launch.key.empty() ? "id-" : ":id-") + options.launch_id;
  }
  if (launch.key.empty() && rank && rank->world_size > 1) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("this is rank {} of {}, but nothing in the environment names the "
                             "launch; give all its monitors the same --launch-id",
                             rank->rank,
                             rank->world_size));
  }
  launch.alone = launch.key.empty();
  if (launch.alone) {
    launch.key = fmt::format("alone:{}:{}", node.identity, ::getpid());
  }
  launch.expected_ranks = rank && !launch.alone ? rank->world_size : 1;
  if (!options.redact) {
    launch.command = options.command;
  }
  launch.started_at = format_rfc3339(clock.wall_now());
  launch.version = options.version;
  launch.environment = recordable_environment(environment);
  launch.study = options.study;
  if (is_wrapped_launcher(options.command)) {
    launch.flags.emplace_back("launcher_wrapped");
  }
  return launch;
}

RankRecordFile registration(const Plan& plan) {
  RankRecordFile record;
  record.rank = plan.joined.rank;
  record.node_directory = plan.node_directory.path.filename().native();
  record.pid = ::getpid();
  record.facts.identity = plan.node.identity;
  RunRecord& part = record.facts.part;
  part.id = plan.joined.launch.id;
  part.started_at = plan.joined.launch.started_at;
  part.launch = {plan.joined.launch.key, plan.joined.launch.launcher};
  part.nodes.push_back({plan.node.host, {}, {}, {}});
  return record;
}

Result<void> write_rank_record(const Plan& plan, const RankRecordFile& record) {
  return write_file_atomic(
      plan.joined.directory.rank_file(record.rank), format_rank_record(record), 0600);
}

Result<Plan> make_plan(const MonitorOptions& options, Clock& clock) {
  Plan plan;
  plan.environment = read_environment(environ);
  plan.node = node_identity(plan.environment, options.sources.root);
  const auto rank = detect_launcher(plan.environment);
  JOULESCALE_TRY_ASSIGN(const LaunchInfo launch,
                        make_launch(options, plan.environment, plan.node, rank, clock));
  const std::string name = launch.alone ? fs::path(options.command.front()).filename().native()
                                        : file_name_of(launch.key);
  const std::optional<int> number = rank ? std::optional(rank->rank) : std::nullopt;
  JOULESCALE_TRY_ASSIGN(
      plan.joined,
      join_launch(options.output, name, launch, launch.alone ? std::optional(0) : number));
  JOULESCALE_TRY_ASSIGN(plan.node_directory,
                        create_node_directory(plan.joined.directory, plan.node.directory));
  if (!launch.alone) {
    plan.claims = std::make_shared<SourceClaims>(plan.joined.launch.id, plan.node.directory);
  }
  if (auto written = write_rank_record(plan, registration(plan)); !written) {
    leave_launch(plan.joined, plan.node_directory);
    return Error(ErrorCode::kInvalidArgument, written.error().text());
  }
  return plan;
}

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

OverheadRecord own_overhead() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  OverheadRecord overhead;
  overhead.cpu_time = Seconds(seconds(usage.ru_utime) + seconds(usage.ru_stime));
  overhead.peak_rss_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  return overhead;
}

void add_device_facts(const std::vector<DeviceInfo>& devices, NodeReport& report) {
  for (const DeviceInfo& device : devices) {
    if (device.visible) {
      report.gpus.push_back(device.uuid);
    }
    if (device.measured && device.mig) {
      report.part.flags.emplace_back("mig_parent");
    }
    if (device.measured && !device.visible) {
      report.part.flags.emplace_back("devices_not_visible");
    }
  }
}

RankRecordFile finished_rank(const MonitorOptions& options,
                             const Plan& plan,
                             const CommandRun& command,
                             const Recorder& recorder) {
  RankRecordFile record = registration(plan);
  record.began = command.began;
  record.ended = command.ended;
  RunRecord& part = record.facts.part;
  part.duration = to_seconds(command.ended - command.began);
  part.ranks.push_back({plan.joined.rank,
                        plan.node.identity,
                        command.status.exit_status,
                        command.status.signal,
                        part.duration});
  part.hardware = read_hardware(options.sources.root, recorder.devices());
  part.overhead = own_overhead();
  add_device_facts(recorder.devices(), record.facts);
  if (!recorder.journal_error().empty()) {
    part.flags.emplace_back("disk_full");
    say(fmt::format("the journal is incomplete: {}", recorder.journal_error()));
  }
  if (recorder.clock_stepped()) {
    part.flags.emplace_back("clock_step");
  }
  if (recorder.suspended()) {
    part.flags.emplace_back("suspend");
  }
  return record;
}

/// Writes node.json if this was the node's last rank, and run.json if it was the launch's last.
/// The record of the run if this process finished it; nothing while other ranks go on.
Result<std::optional<RunRecord>> write_records(const Plan& plan,
                                               const RankRecordFile& own,
                                               Recorder& recorder) {
  auto written = write_rank_record(plan, own);
  auto ranks = read_rank_records(plan.joined.directory, own.node_directory);
  if (!written || !ranks) {
    ranks = std::vector{own};  // what this process knows is not lost with the disk
  }
  if (!all_ended(*ranks)) {
    return std::optional<RunRecord>();
  }
  std::vector<std::string> notes;
  LiveMeter live{recorder.meter(), recorder.journal_error().empty()};
  // Nobody else read a source on the node; or the journal does not tell all that this process
  // knows.
  const bool alone = ranks->size() == 1 && (!recorder.shared() || !live.journal_is_whole);
  JOULESCALE_TRY_ASSIGN(
      const NodeReport report,
      make_node_report(
          plan.joined.launch, plan.node_directory, *ranks, alone ? &live : nullptr, notes));
  for (const std::string& note : notes) {
    say(note);
  }
  if (written) {
    written = write_file_atomic(plan.node_directory.report(), format_node_report(report), 0600);
  }
  if (plan.claims) {
    SourceClaims::remove_files(plan.joined.launch.id, plan.node.directory);
  }
  if (written) {
    auto finished = finish_run(plan.joined.directory.path);
    if (finished) {  // of ranks that end together one has the last word
      return finished->was_new ? std::optional(std::move(finished->record))
                               : std::optional<RunRecord>();
    }
    if (finished.error().code() == ErrorCode::kUnavailable) {
      return std::optional<RunRecord>();
    }
    written = std::move(finished).error();
  }
  say(fmt::format("the record could not be written: {}", written.error().text()));
  return std::optional(merge_run(plan.joined.launch, std::span(&report, 1)));
}

/// Puts the records in place; whatever fails is said and changes nothing else.
void finish_records(const MonitorOptions& options,
                    const Plan& plan,
                    const RankRecordFile& own,
                    Recorder& recorder) {
  const auto run = write_records(plan, own, recorder);
  if (!run) {
    say(fmt::format("the record could not be written: {}", run.error().text()));
    return;
  }
  if (!options.quiet && *run) {
    print_text(stderr, format_summary(**run, plan.joined.directory.path.native()));
  }
}

/// How long to wait for the counters to move once more after the command's end.
Nanoseconds last_tick_patience(const CommandRun& command) {
  return std::min(kLongestTickWait, (command.ended - command.began) / kTickWaitDivisor);
}

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
    }
    missing = recorder.wait_for_domains(missing, clock.monotonic_now() + kReadPatience);
    if (!missing.empty()) {
      for (const Domain domain : missing) {
        say(
            fmt::format("required source '{}' is missing; the command is not started (joulescale "
                        "sensors says why)",
                        domain_name(domain)));
      }
      return MonitorOutcome{3, std::nullopt, false};
    }
  }
  if (const auto signal = session.cancelled()) {
    return MonitorOutcome{128 + *signal, signal, false};
  }
  return std::nullopt;
}

}  // namespace

Result<MonitorOutcome> run_monitor(const MonitorOptions& options, Clock& clock) {
  JOULESCALE_TRY_ASSIGN(const Plan plan, make_plan(options, clock));
  auto journal = JournalWriter::create(plan.node_directory.journal(plan.joined.rank));
  if (!journal) {
    leave_launch(plan.joined, plan.node_directory);
    return Error(ErrorCode::kInvalidArgument, journal.error().text());
  }
  if (is_wrapped_launcher(options.command)) {
    say(
        fmt::format("'{}' is a launcher: only this node is measured; to measure every node, start "
                    "the monitor inside it ({} joulescale monitor -- CMD)",
                    options.command.front(),
                    options.command.front()));
  }
  CommandSession session(clock);
  Sampler sampler(make_sensors(options.sources, clock),
                  Nanoseconds(std::llround(1e9 / options.rate_hz)),
                  clock,
                  plan.claims);
  std::optional<Recorder> recording;
  try {
    recording.emplace(sampler, std::move(journal).value(), clock, plan.claims);
  } catch (const std::system_error& error) {
    sampler.stop(kStopPatience);
    leave_launch(plan.joined, plan.node_directory);
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("cannot start a thread: {}", error.what()));
  }
  Recorder& recorder = *recording;
  if (const auto outcome = wait_for_sources(options, sampler, recorder, session, clock)) {
    MonitorOutcome ended = *outcome;
    ended.left_threads = !sampler.stop(kStopPatience);
    recorder.finish();
    leave_launch(plan.joined, plan.node_directory);
    return ended;
  }
  sampler.read_now(clock.monotonic_now() + kReadPatience);
  auto started = session.start(options.command, command_environment(plan.node_directory));
  if (!started) {
    sampler.stop(kStopPatience);
    leave_launch(plan.joined, plan.node_directory);
    return std::move(started).error();
  }
  recorder.command_began(session.run().began);
  if (*started) {
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
  MonitorOutcome outcome;
  outcome.left_threads = !sampler.stop(kStopPatience);
  recorder.finish();
  if (command.left_children) {
    say("processes of the command go on and are no longer measured (--wait-for-children waits)");
  }
  finish_records(options, plan, finished_rank(options, plan, command, recorder), recorder);
  outcome.exit_status = command.status.exit_status.value_or(0);
  outcome.signal = command.status.signal;
  return outcome;
}

}  // namespace joulescale
