// SPDX-License-Identifier: Apache-2.0
// A CSV file of run summaries (one line a configuration: mean and standard deviation over its
// repetitions), as data/published/study holds it, and the analysis of it. Works on text: reading
// the file is the caller's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "joulescale/analysis/study_analysis.h"
#include "joulescale/base/error.h"

namespace joulescale {

struct RunSummary {
  std::string series;
  std::int64_t gpus = 0;
  std::int64_t local_batch_size = 0;
  std::int64_t global_batch_size = 0;
  std::int64_t training_samples = 0;  // of one epoch
  double energy_kwh_mean = 0.0;
  double energy_kwh_std = 0.0;
  double gpu_hours_mean = 0.0;
  double gpu_hours_std = 0.0;
};

/// All columns of RunSummary, each once, in any order, named in the first line. Quotes as in RFC
/// 4180; LF or CRLF. Errors (kInvalidArgument) begin with "`name`:line:column: ", columns counted
/// in bytes from 1.
Result<std::vector<RunSummary>> parse_run_summaries(std::string_view text, std::string_view name);

/// Groups are the series and "all", which holds a configuration that stands in two series with the
/// same values once. The file tells neither repetitions nor provenance: energies are taken as
/// measured, and a note says so.
StudyAnalysis analyze_run_summaries(const std::vector<RunSummary>& summaries,
                                    const AnalysisOptions& options);

}  // namespace joulescale
