// SPDX-License-Identifier: Apache-2.0
// A run as a short table for people.
#pragma once

#include <string>

#include "joulescale/record/run_record.h"

namespace joulescale {

/// Several lines, each with a line end; every figure with its unit, every estimate with its label
/// and inputs. `directory`: where the record lies; empty: nowhere.
std::string format_summary(const RunRecord& run, const std::string& directory);

}  // namespace joulescale
