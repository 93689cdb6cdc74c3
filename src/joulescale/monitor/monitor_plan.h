// SPDX-License-Identifier: Apache-2.0
// What is settled before the command starts: the launch that this process joined, its place in the
// run directory, and what it says of itself there.
#pragma once

#include <memory>
#include <string>

#include "joulescale/base/file.h"
#include "joulescale/monitor/environment.h"
#include "joulescale/monitor/idle_watch.h"
#include "joulescale/monitor/launch.h"
#include "joulescale/monitor/rank_record.h"
#include "joulescale/monitor/run_monitor.h"
#include "joulescale/monitor/source_claims.h"

namespace joulescale {

struct MonitorPlan {
  EnvironmentMap environment;
  NodeIdentity node;
  JoinedLaunch joined;
  NodeDirectory node_directory;
  std::shared_ptr<SourceClaims> claims;  // none for a launch of one process
};

/// Joins the launch or begins it, and registers this process there. Errors: the user's (options,
/// directories); nothing of this process is left behind then.
Result<MonitorPlan> make_plan(const MonitorOptions& options, Clock& clock);

/// What the rank says of itself before its command has ended; `idle`: its baseline, if there is
/// one.
RankRecordFile registration(const MonitorPlan& plan, const IdleWatch* idle = nullptr);

Result<void> write_rank_record(const MonitorPlan& plan,
                               const RankRecordFile& record,
                               Durability durability = Durability::kLater);

}  // namespace joulescale
