// SPDX-License-Identifier: Apache-2.0
// `joulescale monitor`: runs a command, measures the node meanwhile, and leaves a run directory.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "joulescale/base/clock.h"
#include "joulescale/base/error.h"
#include "joulescale/monitor/journal_rotation.h"
#include "joulescale/record/run_record.h"
#include "joulescale/sensors/catalogue.h"

namespace joulescale {

struct MonitorOptions {
  std::vector<std::string> command;
  std::filesystem::path output;  // empty: a name below ./joulescale-runs
  double rate_hz = 10.0;
  bool quiet = false;
  bool redact = false;  // leaves the command line out of the record
  bool wait_for_children = false;
  Nanoseconds baseline{0};  // for so long the idle node is measured before the start; 0: not at all
  std::string launch_id;
  std::set<Domain> require;
  std::optional<StudyRecord> study;
  SourceOptions sources;
  JournalLimits journal;  // of each process of the launch
  std::string version;
};

struct MonitorOutcome {
  int exit_status = 0;
  /// The command was killed by this signal: the caller ends by it too.
  std::optional<int> signal;
  /// A source hangs: its thread is still there, so the caller must end without destructors.
  bool left_threads = false;
};

/// Reads the process's environment and signals, so one call a process, before other threads exist.
/// Errors: only before the command is started. From then on the outcome is the command's own,
/// whatever befalls the monitor; what went wrong is said on standard error.
Result<MonitorOutcome> run_monitor(const MonitorOptions& options, Clock& clock = system_clock());

}  // namespace joulescale
