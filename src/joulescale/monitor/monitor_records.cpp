// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/monitor_records.h"

#include <sys/resource.h>

#include <filesystem>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "joulescale/monitor/hardware.h"
#include "joulescale/monitor/merge.h"
#include "joulescale/monitor/node_finish.h"
#include "joulescale/monitor/say.h"
#include "joulescale/monitor/summary.h"

namespace joulescale {
namespace {

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
    if (device.measured && !device.visible && !device.inherited) {
      report.part.flags.emplace_back("devices_not_visible");
    }
  }
}

/// Writes node.json if this was the node's last rank, and run.json if it was the launch's last.
/// The record of the run if this process finished it; nothing while other ranks go on.
Result<std::optional<RunRecord>> write_records(const MonitorPlan& plan,
                                               const RankRecordFile& own,
                                               Recorder& recorder) {
  auto written = write_rank_record(plan, own);
  auto ranks = read_rank_records(plan.joined.directory, own.node_directory);
  if (!written || !ranks) {
    ranks = std::vector{own};  // what this process knows is not lost with the disk
  }
  if (!all_ended(*ranks)) {  // else node.json holds what the file says
    sync_file(plan.joined.directory.rank_file(own.rank));
    return std::optional<RunRecord>();
  }
  std::vector<std::string> notes;
  LiveMeter live{recorder.meter(), recorder.journal_error().empty(), recorder.idle_meter()};
  // Nobody else read a source on the node, and the curve of the run is as fine in the journal; or
  // the journal does not tell all that this process knows.
  const bool alone =
      ranks->size() == 1 &&
      ((!recorder.shared() && !recorder.journal_is_thinned()) || !live.journal_is_whole);
  JOULESCALE_TRY_ASSIGN(
      const NodeReport report,
      make_node_report(
          plan.joined.launch, plan.node_directory, *ranks, alone ? &live : nullptr, notes));
  for (const std::string& note : notes) {
    say(note);
  }
  if (written) {
    // What is lost with the node `recover` makes anew from the journal. A command of one process
    // has its run.json at once, and need not wait for the disk twice.
    written = write_file_atomic(plan.node_directory.report(),
                                format_node_report(report),
                                0600,
                                plan.joined.launch.alone ? Durability::kLater : Durability::kWhole);
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

/// The ranks of this node whose monitors were killed: they write no record of their end.
std::vector<int> killed_ranks(const MonitorPlan& plan) {
  std::vector<int> killed;
  const auto ranks =
      read_rank_records(plan.joined.directory, plan.node_directory.path.filename().native());
  if (ranks) {
    for (const RankRecordFile& rank : *ranks) {
      if (!rank.ended && liveness_of(rank.monitor) == Liveness::kEnded) {
        killed.push_back(rank.rank);
      }
    }
  }
  return killed;
}

/// What to say when the launch is not over: one rank's word is enough.
std::string unfinished_text(const MonitorPlan& plan, int own_rank) {
  const std::string directory = plan.joined.directory.path.native();
  if (const std::vector<int> killed = killed_ranks(plan); !killed.empty()) {
    return fmt::format(
        "the monitor{} {} {} killed, so that no rank writes the record: when all have ended, run "
        "joulescale recover {}",
        killed.size() == 1 ? " of rank" : "s of ranks",
        fmt::join(killed, ", "),
        killed.size() == 1 ? "was" : "were",
        directory);
  }
  return own_rank != 0 ? ""
                       : fmt::format(
                             "rank 0 of {} has ended; the last one to end writes the record in {} "
                             "(if one is lost: joulescale recover {})",
                             plan.joined.launch.expected_ranks,
                             directory,
                             directory);
}

}  // namespace

void add_hardware_facts(const MonitorOptions& options,
                        const Recorder& recorder,
                        RankRecordFile& record) {
  record.facts.part.hardware = read_hardware(options.sources.root, recorder.devices());
  add_device_facts(recorder.devices(), record.facts);
  for (SourceNote note : recorder.source_notes()) {
    note.node = record.facts.identity;
    record.facts.part.source_notes.push_back(std::move(note));
  }
}

RankRecordFile finished_rank(const MonitorOptions& options,
                             const MonitorPlan& plan,
                             const IdleWatch* idle,
                             const CommandRun& command,
                             const Recorder& recorder) {
  RankRecordFile record = registration(plan, idle);
  record.began = command.began;
  record.ended = command.ended;
  RunRecord& part = record.facts.part;
  part.started_at = format_rfc3339(command.began + recorder.wall_offset_at_start());
  part.duration = to_seconds(command.ended - command.began);
  part.ranks.push_back({plan.joined.rank,
                        plan.node.identity,
                        command.status.exit_status,
                        command.status.signal,
                        part.duration,
                        format_rfc3339_us(command.ended + recorder.wall_offset_at_start())});
  part.overhead = own_overhead();
  add_hardware_facts(options, recorder, record);
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

void finish_records(bool quiet,
                    const MonitorPlan& plan,
                    const RankRecordFile& own,
                    Recorder& recorder) {
  const auto run = write_records(plan, own, recorder);
  if (!run) {
    say(fmt::format("the record could not be written: {}", run.error().text()));
    return;
  }
  const std::string directory = plan.joined.directory.path.native();
  if (quiet) {
    return;
  }
  if (*run) {
    std::error_code error;
    const bool is_there = std::filesystem::exists(plan.joined.directory.run_file(), error);
    tell(format_summary(**run, is_there ? directory : ""));
  } else if (const std::string text = unfinished_text(plan, own.rank); !text.empty()) {
    say(text);
  }
}

}  // namespace joulescale
