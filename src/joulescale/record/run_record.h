// SPDX-License-Identifier: Apache-2.0
// The record of one measured run, as run.json holds it (schema joulescale.run/1,
// docs/run.schema.json). Plain data: a value that was not read is absent, never 0. Field names and
// meanings follow the JSON keys.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "joulescale/base/clock.h"
#include "joulescale/base/units.h"

namespace joulescale {

inline constexpr std::string_view kRunSchema = "joulescale.run/1";

/// How an energy value came to be: from an energy counter, from power samples, or from a model.
enum class Provenance { kMeasured, kIntegrated, kEstimated };

/// "measured", "integrated", "estimated".
std::string_view provenance_name(Provenance provenance);
std::optional<Provenance> provenance_from_name(std::string_view name);

struct ComponentEnergy {
  Joules energy;
  std::optional<Joules> uncertainty;  // half-width of the 95 % interval of the reading
  Provenance provenance = Provenance::kMeasured;
  std::optional<Joules> integrated;   // the cross-check from power samples
  std::vector<std::string> overlaps;  // components that this one contains or is contained in
  std::string instrument_accuracy;    // vendor's or literature's figure, or "unknown"
  std::map<std::string, std::string> inputs;  // what an estimate was computed from; else empty
};

using ComponentMap = std::map<std::string, ComponentEnergy>;

struct EnergyRecord {
  std::optional<Joules> total;  // measured and integrated only
  std::optional<Joules> total_uncertainty;
  std::vector<std::string> total_includes;
  std::optional<Joules> estimated;
  std::optional<Joules> total_with_estimates;
  ComponentMap components;
  std::string instrument_accuracy;
};

struct RankRecord {
  int rank = 0;
  std::string node;
  std::optional<int> exit_status;  // one of exit_status and signal
  std::optional<int> signal;
  std::optional<Seconds> duration;  // absent: when it began or ended is not known
  std::string ended_at;  // of its command; RFC 3339, UTC; empty where its monitor was killed
};

struct NodeRecord {
  std::string host;
  std::optional<Joules> energy;
  std::optional<Joules> estimated;
  ComponentMap components;
  // NOLINTNEXTLINE(readability-redundant-member-init): g++ warns of initializers that leave it out
  std::string node{};  // its identity, as in ranks, metrics and source_notes
};

struct DevicesRecord {
  std::string kind;  // "gpu" or "cpu_rank"
  int count = 0;
};

struct HardwareRecord {
  std::optional<std::string> gpu_model;
  std::optional<int> gpus_per_node;
  std::optional<std::string> cpu_model;
  std::optional<int> sockets;
  std::optional<int> cores;
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::string> driver;
};

/// The idle node's power before the command was started, of one component.
struct BaselinePower {
  Watts power;
  std::optional<Watts> uncertainty;  // half-width of the 95 % interval of the reading
  Provenance provenance = Provenance::kMeasured;
};

/// The idle baseline (monitor --baseline). It stands beside the run's energy; nothing is subtracted
/// from that.
struct BaselineRecord {
  std::optional<Seconds> duration;  // of the shortest baseline of a node
  std::map<std::string, BaselinePower> components;
  // Of the components that the run's total includes, measured and integrated:
  std::optional<Watts> power;
  std::optional<Watts> power_uncertainty;
  std::optional<Joules> energy;  // that power for the time of the run
  std::optional<Joules> energy_uncertainty;
  std::optional<Joules> above;  // the run's total less `energy`; negative if it took less than idle
  std::optional<Joules> above_uncertainty;
  // Of the components that are estimated:
  std::optional<Watts> estimated_power;
  std::optional<Joules> estimated;
  std::optional<double> cpu_busy_share;  // of all hardware threads, 0 to 1; the busiest node's
  std::vector<std::string> notes;        // what makes the baseline doubtful, in words
};

/// A length that --baseline and a study's `[monitor] baseline` take, 1 s to 1 h; nothing for
/// another text.
std::optional<Nanoseconds> parse_baseline_length(std::string_view text);
inline constexpr std::string_view kBaselineLengths = "1s to 1h, as in 10s, 1500ms or 2min";

struct PowerRecord {
  std::optional<Watts> mean;
  std::optional<Watts> peak;              // the highest mean over a window
  std::optional<Watts> peak_uncertainty;  // half-width of the 95 % interval of the reading
  std::optional<Seconds> peak_window;     // its length
};

struct SourceRecord {
  std::string name;    // "powercap/package-0"
  std::string domain;  // "cpu"
  std::optional<Joules> energy;
  Provenance provenance = Provenance::kMeasured;
  std::optional<Seconds> update_period;
  std::uint64_t samples = 0;
  std::uint64_t missed = 0;
  std::uint64_t wraps = 0;
  std::uint64_t resets = 0;
  std::optional<Seconds> late_start;
};

/// What a source said of itself: why it could not be read, or what a reader of its figures should
/// know.
struct SourceNote {
  std::string source;  // "nvml"
  std::string node;    // as in ranks
  std::string note;
  bool missing = false;  // it is there, should count in the total, and gave nothing

  auto operator<=>(const SourceNote&) const = default;
};

/// A quantity beside energy, between the command's begin and end; never added to one. A gauge has
/// mean, minimum and maximum, a counter difference and mean rate, a bit mask the shares of its
/// bits.
struct MetricRecord {
  std::string name;  // "nvml/GPU-<uuid>/temperature"
  std::string node;  // as in RankRecord
  std::string unit;  // "percent", "MHz", "degC", "B", "W", "s", "bits"
  std::uint64_t samples = 0;
  std::optional<double> mean;  // weighted by time
  std::optional<double> minimum;
  std::optional<double> maximum;
  std::optional<double> difference;
  std::optional<double> mean_rate;           // units a second
  std::map<std::string, double> bit_shares;  // of the time, 0 to 1
};

struct RegionRecord {
  std::string name;
  std::uint64_t count = 0;
  Seconds duration;              // key "seconds": summed over ranks
  std::optional<Joules> energy;  // measured and integrated
  std::optional<Joules> estimated;
  std::optional<Joules> uncertainty;
};

struct PhaseRecord {
  Seconds duration;
  std::optional<Joules> energy;
  std::optional<Joules> estimated;
  std::optional<Joules> uncertainty;
};

struct TrainingRecord {
  std::optional<std::string> model;
  std::optional<std::string> stage;
  std::optional<std::string> dataset;
  std::optional<std::int64_t> epochs;
  std::optional<std::int64_t> samples;
  std::optional<std::int64_t> updates;
  std::optional<std::int64_t> local_batch_size;
  std::optional<std::int64_t> global_batch_size;
  std::optional<std::int64_t> accumulation_steps;
  std::optional<std::int64_t> seed;
  std::optional<double> top1_error;  // percent
  std::optional<double> top5_error;  // percent
  std::optional<double> loss;
  std::map<std::string, double> metrics;
  std::map<std::string, PhaseRecord> phases;
};

using AxisValue = std::variant<std::int64_t, double, std::string>;

struct StudyRecord {
  std::string name;
  std::string series;
  std::vector<std::string> more_series;  // further series of the study that this run belongs to
  int repetition = 0;
  std::map<std::string, AxisValue> axes;
};

struct SchedulerRecord {
  std::optional<std::string> job_id;
  std::optional<std::string> partition;
  std::optional<Joules> energy;
};

struct LaunchRecord {
  std::string key;
  std::string launcher;
  std::optional<int> expected_ranks;  // as the launcher tells; those that came are in `ranks`
};

struct OverheadRecord {
  std::optional<Seconds> cpu_time;
  std::optional<std::uint64_t> peak_rss_bytes;
};

struct RunRecord {
  std::string id;
  std::vector<std::string> command;  // empty when redacted
  std::string started_at;            // of the first command; RFC 3339, UTC
  Seconds duration;
  std::optional<int> exit_status;  // one of exit_status and signal: of first_failure(), else 0
  std::optional<int> signal;
  std::vector<RankRecord> ranks;
  LaunchRecord launch;
  std::string version;
  std::vector<NodeRecord> nodes;
  DevicesRecord devices;
  double device_hours = 0.0;
  HardwareRecord hardware;
  EnergyRecord energy;
  std::optional<BaselineRecord> baseline;
  PowerRecord power;
  std::vector<SourceRecord> sources;
  std::vector<SourceNote> source_notes;
  std::vector<MetricRecord> metrics;
  std::vector<RegionRecord> regions;
  OverheadRecord overhead;
  std::vector<std::string> flags;
  std::optional<TrainingRecord> training;
  std::optional<StudyRecord> study;
  std::optional<SchedulerRecord> scheduler;
};

/// What one of RunRecord::flags says, in a few words; empty for an unknown one.
std::string_view flag_meaning(std::string_view flag);

/// Ended by a signal or with another status than 0.
bool failed(const RankRecord& rank);

/// The one that failed first in time (launchers end the others then); nullptr if none failed.
const RankRecord* first_failure(std::span<const RankRecord> ranks);

/// Ended with status 0 and by no signal.
bool succeeded(const RunRecord& run);

}  // namespace joulescale
