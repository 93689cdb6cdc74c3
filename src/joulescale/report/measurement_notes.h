// SPDX-License-Identifier: Apache-2.0
// What was measured how: one line for tables, tables for the page.
#pragma once

#include <string>
#include <vector>

#include "joulescale/report/study_tables.h"
#include "joulescale/report/table.h"

namespace joulescale {

/// Lines below the configuration table: meaning of the spread, basis of the energy and what it
/// contains, accuracy of the instruments.
std::vector<std::string> measurement_notes(const StudyReport& report);

/// One row for each way in which a component's energy came about (provenance, accuracy, inputs of
/// an estimate), over all complete runs.
Table component_table(const StudyReport& report);

/// One row a source: what it read, how often, what it missed, over all complete runs.
Table source_table(const StudyReport& report);

/// Hosts, processors, memory, drivers and program versions of the runs.
Table hardware_table(const StudyReport& report);

}  // namespace joulescale
