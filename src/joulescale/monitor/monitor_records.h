// SPDX-License-Identifier: Apache-2.0
// What a monitor writes when its command has ended: the rank's record, and with the last rank of a
// node node.json, with the last of the launch run.json.
#pragma once

#include "joulescale/monitor/monitor_plan.h"
#include "joulescale/monitor/recorder.h"
#include "joulescale/monitor/session.h"

namespace joulescale {

/// What is known of the node's hardware, and of its sources, once these are open.
void add_hardware_facts(const MonitorOptions& options,
                        const Recorder& recorder,
                        RankRecordFile& record);

/// The rank's record after its end.
RankRecordFile finished_rank(const MonitorOptions& options,
                             const MonitorPlan& plan,
                             const IdleWatch* idle,
                             const CommandRun& command,
                             const Recorder& recorder);

/// Puts the records in place and prints the summary; whatever fails is said and changes nothing
/// else.
void finish_records(bool quiet,
                    const MonitorPlan& plan,
                    const RankRecordFile& own,
                    Recorder& recorder);

}  // namespace joulescale
