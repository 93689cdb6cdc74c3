// SPDX-License-Identifier: Apache-2.0
// The analysis of a study as JSON (schema joulescale.analysis/1, docs/analysis.md).
#pragma once

#include <string>

#include "joulescale/analysis/study_analysis.h"

namespace joulescale {

inline constexpr std::string_view kAnalysisSchema = "joulescale.analysis/1";

/// Strict JSON (no NaN; what is missing has no key), indented by two, ending in a line end.
std::string format_analysis_json(const StudyAnalysis& analysis);

}  // namespace joulescale
