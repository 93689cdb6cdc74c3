// SPDX-License-Identifier: Apache-2.0
// Made-up run records for tests of analysis and report: nothing here was measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "joulescale/record/run_record.h"

namespace joulescale::testing {

struct SyntheticRun {
  std::string series;
  std::vector<std::string> more_series;
  int devices = 1;
  std::int64_t local_batch_size = 64;
  int repetition = 0;
  double duration_s = 60.0;
  double energy_j = 3600.0;
  double top1_error = 20.0;
};

/// A complete run on CPU ranks with a measured energy.
RunRecord synthetic_run(const SyntheticRun& parameters);

/// The same run as a machine without counters records it: all energy estimated.
RunRecord with_estimated_energy(RunRecord run);

/// A study like the shipped quickstart: a constant-LBS and a constant-GBS series and a large batch,
/// two repetitions each.
std::vector<RunRecord> synthetic_study();

}  // namespace joulescale::testing
