// SPDX-License-Identifier: Apache-2.0
// A configuration of a study (what was run) with its measured quantities (mean and spread over
// repetitions). The common currency of analysis and report, whether it came from runs or from a
// file of run summaries.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "joulescale/analysis/statistics.h"

namespace joulescale {

/// What makes two runs repetitions of one another. Ordered as tables are.
struct ConfigurationKey {
  std::string workload;  // model (and stage), or the command line of a run without training record
  std::string dataset;
  std::string hardware;     // GPU model, or CPU model where ranks are the devices
  std::string device_kind;  // "gpu" or "cpu_rank"
  int num_devices = 0;
  std::optional<std::int64_t> local_batch_size;
  std::optional<std::int64_t> global_batch_size;
  std::optional<std::int64_t> accumulation_steps;
  std::optional<std::int64_t> epochs;
  std::optional<std::int64_t> samples;          // training samples processed, over all epochs
  std::optional<std::int64_t> dataset_samples;  // training samples of one epoch

  auto operator<=>(const ConfigurationKey&) const = default;
};

struct PhaseSummary {
  Summary seconds;  // summed over ranks
  Summary share;    // of the seconds of all phases of the run, 0..1
};

struct MeasuredConfiguration {
  ConfigurationKey key;
  std::vector<std::string> series;           // in order of first appearance; empty outside a study
  std::vector<std::string> run_ids;          // empty when read from a file of summaries
  std::size_t repetitions = 0;               // 0: not known (file of summaries)
  std::vector<std::string> energy_includes;  // components in the energy; empty: not known
  bool mixed_energy_includes = false;        // repetitions differ: no mean energy

  std::optional<std::int64_t> updates;  // gradient updates; absent if repetitions differ
  Summary runtime_s;
  Summary device_hours;
  Summary energy_kwh;
  Summary energy_kwh_per_device_hour;
  Summary samples_per_device_hour;
  Summary updates_per_device_hour;
  Summary top1_error_percent;
  Summary top5_error_percent;
  Summary loss;
  std::map<std::string, PhaseSummary> phases;
};

/// "2 devices, LBS 64, GBS 128": how notes and plots name a configuration.
std::string describe(const ConfigurationKey& key);

}  // namespace joulescale
