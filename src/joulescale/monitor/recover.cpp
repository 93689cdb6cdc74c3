// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/recover.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "joulescale/base/file.h"
#include "joulescale/monitor/environment.h"
#include "joulescale/monitor/journal.h"
#include "joulescale/monitor/launch.h"
#include "joulescale/monitor/merge.h"
#include "joulescale/monitor/node_finish.h"
#include "joulescale/monitor/source_claims.h"
#include "joulescale/record/run_json.h"

namespace joulescale {
namespace {

namespace fs = std::filesystem;

/// A journal that changed this recently belongs to a monitor that may still run, on another node or
/// in another container.
constexpr std::chrono::seconds kStillWritten{10};
/// The same where nobody has asked for an end: clocks of nodes differ, a monitor may be stopped, a
/// shared file system may show changes late, and further ranks may wait in a queue.
constexpr std::chrono::minutes kLongRest{10};

/// When the rank's command ran, and which GPUs it had, as its journal tells.
class CommandTimes final : public JournalVisitor {
 public:
  void on_sensor(std::size_t, Nanoseconds, const std::vector<Channel>& channels) override {
    for (const Channel& channel : channels) {
      if (channel.domain == Domain::kGpu && channel.quantity != Quantity::kMetric) {
        gpus.insert(channel.overlap_group);
      }
    }
  }
  void on_readings(std::size_t, const std::vector<RawReading>& readings) override {
    for (const RawReading& reading : readings) {
      last = std::max(last, reading.after);
    }
  }
  void on_start(Nanoseconds, Nanoseconds offset) override { wall_offset = offset; }
  void on_begin(Nanoseconds time) override { begin = time; }
  void on_end(Nanoseconds time, bool by_signal, int status) override {
    end = time;
    (by_signal ? signal : exit_status) = status;
  }

  Nanoseconds wall_offset{0};
  std::optional<Nanoseconds> begin;
  std::optional<Nanoseconds> end;
  std::optional<int> exit_status;
  std::optional<int> signal;
  Nanoseconds last{0};
  std::set<std::string> gpus;
};

bool changed_within(std::chrono::seconds rest, const fs::path& path) {
  std::error_code error;
  const auto changed = fs::last_write_time(path, error);
  return !error && fs::file_time_type::clock::now() - changed < rest;
}

/// Of a process of the rank's node; unknown if that is another one.
Liveness liveness_from(const std::string& here,
                       const RankRecordFile& rank,
                       const ProcessIdentity& process) {
  return rank.facts.identity == here ? liveness_of(process) : Liveness::kUnknown;
}

/// `rest`: how long the journal of a monitor that cannot be looked at must not have changed.
bool may_still_run(const RankRecordFile& rank,
                   const fs::path& journal,
                   const std::string& here,
                   std::chrono::seconds rest) {
  const auto files = JournalFiles{journal}.present();
  const Liveness liveness = liveness_from(here, rank, rank.monitor);
  return liveness == Liveness::kRuns ||
         (liveness == Liveness::kUnknown && changed_within(rest, files ? files->back() : journal));
}

std::string identity_here() { return node_identity(read_environment(environ), "/").identity; }

std::string unreadable_part(std::size_t bytes, int rank) {
  return fmt::format(
      "{} bytes at the end of the journal of rank {} cannot be read (torn or "
      "damaged): what they held is not known",
      bytes,
      rank);
}

std::string still_runs_text(const RunDirectory& directory,
                            const RankRecordFile& rank,
                            const std::string& here) {
  if (liveness_from(here, rank, rank.monitor) == Liveness::kRuns) {
    return fmt::format("'{}': rank {} still runs on {} (monitor's process {}); wait for it",
                       directory.path.native(),
                       rank.rank,
                       rank.node_directory,
                       rank.monitor.pid);
  }
  return fmt::format(
      "'{}': whether the monitor of rank {} still runs on {} cannot be seen from here (another "
      "node or container), and its journal changed in the last {} s; try again later",
      directory.path.native(),
      rank.rank,
      rank.node_directory,
      kStillWritten.count());
}

/// What the rank's journal tells, and how many of its bytes cannot be read; those are noted.
Result<std::size_t> read_times(const NodeDirectory& node,
                               RankRecordFile& rank,
                               CommandTimes& times) {
  std::size_t torn_bytes = 0;
  const fs::path journal = node.journal(rank.rank);
  if (std::ranges::count(node.journals(), journal) > 0) {  // else killed before it had one
    JOULESCALE_TRY_ASSIGN(torn_bytes, read_journal(journal, times));
  }
  if (torn_bytes > 0) {
    rank.facts.part.source_notes.push_back(
        {"journal", rank.facts.identity, unreadable_part(torn_bytes, rank.rank), false});
  }
  return torn_bytes;
}

/// Gives the rank the end that its monitor could not write.
void end_rank(const CommandTimes& times, const std::string& here, RankRecordFile& rank) {
  rank.began = times.begin;
  rank.ended = times.end.value_or(std::max(times.last, times.begin.value_or(times.last)));
  RunRecord& part = rank.facts.part;
  if (times.last == Nanoseconds(0)) {
    part.source_notes.push_back(
        {"journal",
         rank.facts.identity,
         fmt::format("the journal of rank {} is missing or holds no reading: what no other rank "
                     "read is not known",
                     rank.rank),
         false});
  }
  if (!times.end && rank.command && liveness_from(here, rank, *rank.command) == Liveness::kRuns) {
    part.source_notes.push_back(
        {"command",
         rank.facts.identity,
         fmt::format("the command of rank {} (process {}) outlived its monitor and still ran when "
                     "this record was made: what it uses after the record's end is not in it",
                     rank.rank,
                     rank.command->pid),
         false});
  }
  part.flags.emplace_back("recovered");
  if (times.begin) {
    part.started_at = format_rfc3339(*times.begin + times.wall_offset);
  }
  part.duration = to_seconds(*rank.ended - rank.began.value_or(*rank.ended));
  RankRecord entry{rank.rank, rank.facts.identity, times.exit_status, times.signal, {}, {}};
  if (part.duration.value() > 0.0) {
    entry.duration = part.duration;
  }
  if (times.end) {
    entry.ended_at = format_rfc3339_us(*times.end + times.wall_offset);
  }
  part.ranks = {std::move(entry)};
}

bool has_flag(const RankRecordFile& rank, std::string_view flag) {
  return std::ranges::count(rank.facts.part.flags, flag) > 0;
}

bool is_recovered(const RankRecordFile& rank) { return has_flag(rank, "recovered"); }

/// Gives ranks that were killed in their first second, before they told their GPUs, those that
/// `measured` has and no other rank told. They may be the GPUs of nobody where one looked on.
void add_untold_gpus(std::set<std::string> measured, std::vector<RankRecordFile>& ranks) {
  for (const RankRecordFile& rank : ranks) {
    if (has_flag(rank, "devices_not_visible")) {
      return;
    }
    for (const std::string& gpu : rank.facts.gpus) {
      measured.erase(gpu);
    }
  }
  for (RankRecordFile& rank : ranks) {
    if (rank.facts.gpus.empty() && is_recovered(rank)) {
      rank.facts.gpus.assign(measured.begin(), measured.end());
    }
  }
}

Result<void> recover_node(const RunDirectory& directory,
                          const LaunchInfo& launch,
                          const std::string& name,
                          std::vector<RankRecordFile> ranks) {
  const NodeDirectory node{directory.nodes() / name};
  const std::string here = identity_here();
  std::set<std::string> measured_gpus;
  for (RankRecordFile& rank : ranks) {
    CommandTimes times;
    if (rank.ended) {
      JOULESCALE_TRY(read_times(node, rank, times));
      measured_gpus.merge(times.gpus);
      continue;
    }
    if (may_still_run(rank, node.journal(rank.rank), here, kStillWritten)) {
      return Error(ErrorCode::kUnavailable, still_runs_text(directory, rank, here));
    }
    JOULESCALE_TRY_ASSIGN(const std::size_t torn_bytes, read_times(node, rank, times));
    measured_gpus.merge(times.gpus);
    end_rank(times, here, rank);
    if (launch.expected_ranks <= 1 && *rank.ended <= rank.began.value_or(*rank.ended)) {
      return Error(
          ErrorCode::kUnavailable,
          fmt::format("'{}': its monitor was killed, and no reading of the time after "
                      "the command's start {}: there is nothing to recover",
                      directory.path.native(),
                      torn_bytes > 0 ? "can be read (the journal is damaged)" : "is on disk"));
    }
  }
  add_untold_gpus(std::move(measured_gpus), ranks);
  for (const RankRecordFile& rank : ranks) {
    if (is_recovered(rank)) {
      JOULESCALE_TRY(
          write_file_atomic(directory.rank_file(rank.rank), format_rank_record(rank), 0600));
    }
  }
  std::vector<std::string> notes;
  JOULESCALE_TRY_ASSIGN(const NodeReport report,
                        make_node_report(launch, node, ranks, nullptr, notes));
  SourceClaims::remove_files(launch.id, name);
  return write_file_atomic(node.report(), format_node_report(report), 0600);
}

/// Whether the node's own report is there as a whole: that of a node which failed may be empty.
bool has_report(const NodeDirectory& node) {
  const auto text = read_file(node.report());
  return text && parse_node_report(*text);
}

/// Writes the node.json of every node that has none or whose ranks were killed.
Result<LaunchInfo> recover_nodes(const RunDirectory& directory) {
  JOULESCALE_TRY_ASSIGN(const LaunchInfo launch, read_launch(directory));
  JOULESCALE_TRY_ASSIGN(const auto records, read_rank_records(directory, ""));
  std::map<std::string, std::vector<RankRecordFile>> nodes;
  for (const RankRecordFile& record : records) {
    nodes[record.node_directory].push_back(record);
  }
  for (auto& [name, ranks] : nodes) {
    if (!all_ended(ranks) || !has_report(NodeDirectory{directory.nodes() / name})) {
      JOULESCALE_TRY(recover_node(directory, launch, name, std::move(ranks)));
    }
  }
  return launch;
}

}  // namespace

Result<RunRecord> recover_run(const fs::path& path) {
  const RunDirectory directory{path};
  JOULESCALE_TRY(recover_nodes(directory));
  JOULESCALE_TRY_ASSIGN(FinishedRun finished, finish_run(path, Missing::kAllowed));
  return std::move(finished.record);
}

Result<std::optional<RunRecord>> finish_killed_run(const fs::path& path) {
  const RunDirectory directory{path};
  std::error_code error;
  if (fs::exists(directory.run_file(), error)) {
    return std::optional<RunRecord>();
  }
  JOULESCALE_TRY_ASSIGN(const LaunchInfo launch, read_launch(directory));
  JOULESCALE_TRY_ASSIGN(const auto ranks, read_rank_records(directory, ""));
  if (ranks.empty()) {
    return std::optional<RunRecord>();
  }
  const bool all_came = ranks.size() >= static_cast<std::size_t>(launch.expected_ranks);
  const std::string here = identity_here();
  for (const RankRecordFile& rank : ranks) {
    const NodeDirectory node{directory.nodes() / rank.node_directory};
    // A rank that has ended may be about to write the records itself.
    if (may_still_run(rank, node.journal(rank.rank), here, kLongRest) ||
        (!all_came && changed_within(kLongRest, directory.rank_file(rank.rank)))) {
      return std::optional<RunRecord>();
    }
  }
  JOULESCALE_TRY_ASSIGN(RunRecord run, recover_run(path));
  return std::optional(std::move(run));
}

Result<RunRecord> recover_merged(std::span<const fs::path> directories, const fs::path& output) {
  std::error_code error;
  if (fs::exists(output, error) && !fs::is_empty(output, error)) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("'{}' is not empty; choose another --output", output.native()));
  }
  std::optional<LaunchInfo> launch;
  std::map<fs::path, std::string> reports;  // below nodes/
  for (const fs::path& path : directories) {
    const RunDirectory directory{path};
    JOULESCALE_TRY_ASSIGN(const LaunchInfo part, recover_nodes(directory));
    if (launch && launch->key != part.key) {
      return Error(ErrorCode::kInvalidArgument,
                   fmt::format("'{}' belongs to another launch ('{}', not '{}')",
                               path.native(),
                               part.key,
                               launch->key));
    }
    launch = launch.value_or(part);
    for (fs::directory_iterator entry(directory.nodes(), error), end; !error && entry != end;
         entry.increment(error)) {
      JOULESCALE_TRY_ASSIGN(std::string text, read_file(NodeDirectory{entry->path()}.report()));
      if (!reports.emplace(entry->path().filename(), std::move(text)).second) {
        return Error(ErrorCode::kInvalidArgument,
                     fmt::format("'{}': node '{}' is in another of the directories too",
                                 path.native(),
                                 entry->path().filename().native()));
      }
    }
  }
  if (!launch) {
    return Error(ErrorCode::kInvalidArgument, "no directory given");
  }
  const RunDirectory merged{output};
  for (const auto& [name, text] : reports) {
    for (const fs::path& directory : {output, merged.nodes(), merged.nodes() / name}) {
      JOULESCALE_TRY(make_private_directory(directory));
    }
    JOULESCALE_TRY(write_file_atomic(NodeDirectory{merged.nodes() / name}.report(), text, 0600));
  }
  JOULESCALE_TRY(write_file_atomic(merged.launch_file(), format_launch(*launch), 0600));
  JOULESCALE_TRY_ASSIGN(FinishedRun finished, finish_run(output, Missing::kAllowed));
  return std::move(finished.record);
}

}  // namespace joulescale
