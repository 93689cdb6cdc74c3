// SPDX-License-Identifier: Apache-2.0
// Several partial training records into one.
#pragma once

#include <string_view>

#include "joulescale/base/error.h"
#include "joulescale/record/run_record.h"

namespace joulescale {

/// Values that `from` has replace those of `into`; metrics and phases by name.
void overlay_training(const TrainingRecord& from, TrainingRecord& into);

/// overlay_training() of a kTraining frame's JSON.
Result<void> merge_training_json(std::string_view json, TrainingRecord& into);

}  // namespace joulescale
