// SPDX-License-Identifier: Apache-2.0
// A scaling study as its author wrote it down (docs/studies.md), checked and typed. Plain data.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace joulescale {

inline constexpr std::string_view kStudySchema = "joulescale.study/1";

enum class WorkloadKind {
  kTrain,    // joulescale-train with options
  kCommand,  // any command with placeholders
};

/// "train", "command".
std::string_view workload_kind_name(WorkloadKind kind);

/// One option of joulescale-train: --name=value, or --name alone when there is no value.
struct WorkloadOption {
  std::string name;
  std::optional<std::string> value;
  int line = 0;  // where the study file has it
};

struct WorkloadSpec {
  WorkloadKind kind = WorkloadKind::kTrain;
  std::vector<WorkloadOption> options;  // kTrain
  std::vector<std::string> argv;        // kCommand: with placeholders, see kPlaceholders
  std::optional<std::int64_t> samples;  // kCommand: training samples of one run, for {samples}
  int line = 0;
};

/// What stands in braces in workload.argv.
inline constexpr std::string_view kPlaceholders[] = {"devices",
                                                     "local_batch_size",
                                                     "global_batch_size",
                                                     "accumulation_steps",
                                                     "samples",
                                                     "seed",
                                                     "repetition",
                                                     "run_dir"};

struct LauncherSpec {
  std::string kind = "local";
};

struct MonitorSpec {
  std::optional<double> rate_hz;
  std::optional<std::string> baseline;      // a length of time with its unit
  std::optional<std::string> root;          // stands for / for every file-based source
  std::optional<std::string> nvml_library;  // in place of libnvidia-ml.so.1
  std::optional<double> cpu_thread_watts;   // inputs of the estimate where no counter exists
  std::optional<double> ram_watts;
};

/// One point of a series: global batch size = local batch size x devices x accumulation steps.
struct Configuration {
  std::int64_t devices = 0;
  std::int64_t local_batch_size = 0;
  std::int64_t accumulation_steps = 1;

  std::int64_t global_batch_size() const { return devices * local_batch_size * accumulation_steps; }
  auto operator<=>(const Configuration&) const = default;
};

struct SeriesSpec {
  std::string name;
  std::vector<Configuration> configurations;  // at least one, no two alike
  int line = 0;
};

struct StudySpec {
  std::string name;
  std::int64_t repetitions = 1;
  std::int64_t seed = 0;     // repetition r, counted from 0, uses seed + r
  std::int64_t retries = 1;  // further attempts of a failed run
  WorkloadSpec workload;
  LauncherSpec launcher;
  MonitorSpec monitor;
  std::vector<SeriesSpec> series;
};

/// The effective configuration, defaults included, as indented JSON.
std::string format_study_spec(const StudySpec& spec);

}  // namespace joulescale
