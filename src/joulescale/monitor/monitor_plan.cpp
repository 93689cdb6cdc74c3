// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/monitor_plan.h"

#include <unistd.h>

#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "joulescale/monitor/launcher.h"
#include "joulescale/monitor/say.h"

namespace joulescale {
namespace {

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

/// The name of a run's directory after its command.
std::string name_of_command(const std::string& command) {
  const std::string name = std::filesystem::path(command).filename().native();
  return name.empty() || name == "." || name == ".." ? "run" : name;
}

}  // namespace

RankRecordFile registration(const MonitorPlan& plan, const IdleWatch* idle) {
  RankRecordFile record;
  record.rank = plan.joined.rank;
  record.node_directory = plan.node_directory.path.filename().native();
  record.monitor = own_process();
  if (idle != nullptr) {
    record.baseline_began = idle->began;
    record.baseline_cpu_busy = idle->cpu_busy_share;
  }
  record.facts.identity = plan.node.identity;
  RunRecord& part = record.facts.part;
  part.id = plan.joined.launch.id;
  part.started_at = plan.joined.launch.started_at;
  part.launch = {plan.joined.launch.key, plan.joined.launch.launcher, {}};
  part.nodes.push_back({plan.node.host, {}, {}, {}});
  return record;
}

Result<void> write_rank_record(const MonitorPlan& plan,
                               const RankRecordFile& record,
                               Durability durability) {
  return write_file_atomic(
      plan.joined.directory.rank_file(record.rank), format_rank_record(record), 0600, durability);
}

Result<MonitorPlan> make_plan(const MonitorOptions& options, Clock& clock) {
  MonitorPlan plan;
  plan.environment = read_environment(environ);
  plan.node = node_identity(plan.environment, options.sources.root);
  JOULESCALE_TRY_ASSIGN(const auto rank, detect_launcher(plan.environment));
  JOULESCALE_TRY_ASSIGN(const LaunchInfo launch,
                        make_launch(options, plan.environment, plan.node, rank, clock));
  const std::string name =
      launch.alone ? name_of_command(options.command.front()) : file_name_of(launch.key);
  const std::optional<int> number = rank ? std::optional(rank->rank) : std::nullopt;
  JOULESCALE_TRY_ASSIGN(
      plan.joined,
      join_launch(options.output, name, launch, launch.alone ? std::optional(0) : number));
  if (!plan.joined.passed_over.empty() && plan.joined.made_directory) {
    say(
        fmt::format("'{}' holds another launch of the same name (ended, of another number of "
                    "ranks, or with this rank already): a new one begins in '{}'",
                    plan.joined.passed_over.native(),
                    plan.joined.directory.path.native()));
  }
  if (auto made = create_node_directory(plan.joined.directory, plan.node.directory); made) {
    plan.node_directory = *made;
  } else {
    leave_launch(plan.joined, {plan.joined.directory.nodes() / plan.node.directory});
    return std::move(made).error();
  }
  if (!launch.alone) {
    plan.claims = std::make_shared<SourceClaims>(plan.joined.launch.id, plan.node.directory);
  }
  if (auto written = write_rank_record(plan, registration(plan)); !written) {
    leave_launch(plan.joined, plan.node_directory);
    return Error(ErrorCode::kInvalidArgument, written.error().text());
  }
  return plan;
}

}  // namespace joulescale
