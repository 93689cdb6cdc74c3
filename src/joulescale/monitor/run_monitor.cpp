// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/run_monitor.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <fmt/format.h>

#include "joulescale/base/file.h"
#include "joulescale/monitor/environment.h"
#include "joulescale/monitor/hardware.h"
#include "joulescale/monitor/launch.h"
#include "joulescale/monitor/marks/mark_writer.h"
#include "joulescale/monitor/marks_summary.h"
#include "joulescale/monitor/merge.h"
#include "joulescale/monitor/recorder.h"
#include "joulescale/monitor/sampler.h"
#include "joulescale/monitor/session.h"
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

void say(const std::string& line) { fmt::print(stderr, "joulescale monitor: {}\n", line); }

/// Everything that is settled before the command starts.
struct Plan {
  EnvironmentMap environment;
  std::optional<LauncherRanks> ranks;
  LaunchInfo launch;
  NodeIdentity node;
  RunDirectory directory;
  NodeDirectory node_directory;
};

/// One node must be counted once: several monitors on it would each count it whole.
Result<void> check_launcher(const std::optional<LauncherRanks>& ranks) {
  if (!ranks || ranks->world_size <= 1 || ranks->local_size == 1) {
    return {};
  }
  return Error(ErrorCode::kInvalidArgument,
               fmt::format("this is one of {} ranks that {} started, and each monitor would count "
                           "the whole node; start one monitor around the launcher on each node",
                           ranks->world_size,
                           ranks->launcher));
}

LaunchInfo make_launch(const MonitorOptions& options, const Plan& plan, Clock& clock) {
  LaunchInfo launch;
  launch.id = random_launch_id();
  launch.launcher = plan.ranks ? plan.ranks->launcher : "none";
  launch.key = options.launch_id.empty()
                   ? fmt::format("alone:{}:{}", plan.node.identity, ::getpid())
                   : options.launch_id;
  if (!options.redact) {
    launch.command = options.command;
  }
  launch.started_at = format_rfc3339(clock.wall_now());
  launch.version = options.version;
  launch.environment = recordable_environment(plan.environment);
  launch.study = options.study;
  if (is_wrapped_launcher(options.command)) {
    launch.flags.emplace_back("launcher_wrapped");
  }
  return launch;
}

Result<Plan> make_plan(const MonitorOptions& options, Clock& clock) {
  Plan plan;
  plan.environment = read_environment(environ);
  plan.ranks = detect_launcher(plan.environment);
  JOULESCALE_TRY(check_launcher(plan.ranks));
  plan.node = node_identity(plan.environment, options.sources.root);
  plan.launch = make_launch(options, plan, clock);
  const std::string name = options.launch_id.empty()
                               ? fs::path(options.command.front()).filename().native()
                               : options.launch_id;
  JOULESCALE_TRY_ASSIGN(plan.directory, create_run_directory(options.output, name, plan.launch));
  JOULESCALE_TRY_ASSIGN(plan.node_directory,
                        create_node_directory(plan.directory, plan.node.directory));
  return plan;
}

/// Takes back what make_plan() made, when the command was not started after all.
void remove_plan(const Plan& plan) {
  std::error_code ignored;
  fs::remove_all(plan.directory.nodes(), ignored);
  fs::remove(plan.directory.launch_file(), ignored);
  if (plan.directory.made) {
    fs::remove(plan.directory.path, ignored);
  }
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

NodeReport make_report(const MonitorOptions& options,
                       const Plan& plan,
                       const CommandRun& command,
                       Recorder& recorder) {
  NodeEnergy energy = recorder.meter().finish(command.began, command.ended);
  MarksSummary marks =
      summarise_marks(plan.node_directory.marks(), energy.curves, command.began, command.ended);
  for (const std::string& note : marks.notes) {
    say(note);
  }
  NodeReport report;
  report.identity = plan.node.identity;
  report.groups = std::move(energy.groups);
  report.registered_ranks = marks.registered_ranks;
  RunRecord& part = report.part;
  part.id = plan.launch.id;
  part.started_at = plan.launch.started_at;
  part.launch = {plan.launch.key, plan.launch.launcher};
  part.nodes.push_back({plan.node.host, {}, {}, {}});
  part.duration = to_seconds(command.ended - command.began);
  part.ranks.push_back({plan.ranks ? plan.ranks->rank : 0,
                        plan.node.identity,
                        command.status.exit_status,
                        command.status.signal,
                        part.duration});
  part.sources = std::move(energy.sources);
  part.power = energy.power;
  part.flags = std::move(energy.flags);
  part.regions = std::move(marks.regions);
  part.training = std::move(marks.training);
  part.hardware = read_hardware(options.sources.root, recorder.devices());
  part.overhead = own_overhead();
  add_device_facts(recorder.devices(), report);
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
  return report;
}

/// Puts node.json and run.json in place; whatever fails is said and changes nothing else.
void finish_records(const MonitorOptions& options, const Plan& plan, const NodeReport& report) {
  RunRecord run = merge_run(plan.launch, std::span(&report, 1));
  auto written = write_file_atomic(plan.node_directory.report(), format_node_report(report), 0600);
  if (written) {
    auto finished = finish_run(plan.directory.path);
    if (finished) {
      run = std::move(finished).value();
    } else {
      written = std::move(finished).error();
    }
  }
  if (!written) {
    say(fmt::format("the record could not be written: {}", written.error().text()));
  }
  if (!options.quiet) {
    fmt::print(stderr, "{}", format_summary(run, plan.directory.path.native()));
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
  auto journal = JournalWriter::create(plan.node_directory.journal());
  if (!journal) {
    remove_plan(plan);
    return Error(ErrorCode::kInvalidArgument, journal.error().text());
  }
  if (!plan.launch.flags.empty()) {
    say(
        fmt::format("'{}' is a launcher: only this node is measured; to measure every node, start "
                    "the monitor inside it ({} joulescale monitor -- CMD)",
                    options.command.front(),
                    options.command.front()));
  }
  CommandSession session(clock);
  Sampler sampler(make_sensors(options.sources, clock),
                  Nanoseconds(std::llround(1e9 / options.rate_hz)),
                  clock);
  Recorder recorder(sampler, std::move(journal).value(), clock);
  if (const auto outcome = wait_for_sources(options, sampler, recorder, session, clock)) {
    MonitorOutcome ended = *outcome;
    ended.left_threads = !sampler.stop(kStopPatience);
    recorder.finish();
    remove_plan(plan);
    return ended;
  }
  sampler.read_now(clock.monotonic_now() + kReadPatience);
  auto started = session.start(options.command, command_environment(plan.node_directory));
  if (!started) {
    sampler.stop(kStopPatience);
    remove_plan(plan);
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
  finish_records(options, plan, make_report(options, plan, command, recorder));
  outcome.exit_status = command.status.exit_status.value_or(0);
  outcome.signal = command.status.signal;
  return outcome;
}

}  // namespace joulescale
