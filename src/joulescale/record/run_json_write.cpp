// SPDX-License-Identifier: Apache-2.0
// RunRecord to run.json: one write_*() a struct. Its twin read_*() in run_json_read.cpp has the
// same keys in the same order.
#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

#include "joulescale/base/text.h"
#include "joulescale/record/run_json.h"

namespace joulescale {
namespace {

using Json = nlohmann::ordered_json;

void put(Json& object, const char* key, double value) {
  if (std::isfinite(value)) {
    object[key] = value;
  }
}
void put(Json& object, const char* key, const std::string& value) {
  if (!value.empty()) {
    object[key] = to_valid_utf8(value);
  }
}
void put(Json& object, const char* key, int value) { object[key] = value; }
void put(Json& object, const char* key, std::int64_t value) { object[key] = value; }
void put(Json& object, const char* key, std::uint64_t value) { object[key] = value; }
template <typename Tag>
void put(Json& object, const char* key, Unit<Tag> value) {
  put(object, key, value.value());
}
template <typename T>
void put(Json& object, const char* key, const std::optional<T>& value) {
  if (value) {
    put(object, key, *value);
  }
}
void put(Json& object, const char* key, const std::vector<std::string>& values) {
  Json array = Json::array();
  for (const std::string& value : values) {
    array.push_back(to_valid_utf8(value));
  }
  object[key] = std::move(array);
}
void put_object(Json& object, const char* key, Json value) {
  if (!value.empty()) {
    object[key] = std::move(value);
  }
}

Json write_components(const ComponentMap& components) {
  Json object = Json::object();
  for (const auto& [name, component] : components) {
    Json entry = Json::object();
    put(entry, "energy_j", component.energy);
    put(entry, "uncertainty_j", component.uncertainty);
    entry["provenance"] = provenance_name(component.provenance);
    put(entry, "integrated_j", component.integrated);
    if (!component.overlaps.empty()) {
      put(entry, "overlaps", component.overlaps);
    }
    put(entry, "instrument_accuracy", component.instrument_accuracy);
    Json inputs = Json::object();
    for (const auto& [input, value] : component.inputs) {
      put(inputs, input.c_str(), value);
    }
    put_object(entry, "inputs", std::move(inputs));
    object[to_valid_utf8(name)] = std::move(entry);
  }
  return object;
}

Json write_energy(const EnergyRecord& energy) {
  Json object = Json::object();
  put(object, "total_j", energy.total);
  put(object, "total_uncertainty_j", energy.total_uncertainty);
  if (!energy.total_includes.empty()) {
    put(object, "total_includes", energy.total_includes);
  }
  put(object, "instrument_accuracy", energy.instrument_accuracy);
  put(object, "estimated_j", energy.estimated);
  put(object, "total_with_estimates_j", energy.total_with_estimates);
  put_object(object, "components", write_components(energy.components));
  return object;
}

Json write_baseline(const BaselineRecord& baseline) {
  Json object = Json::object();
  put(object, "duration_s", baseline.duration);
  Json components = Json::object();
  for (const auto& [name, component] : baseline.components) {
    Json entry = Json::object();
    put(entry, "power_w", component.power);
    put(entry, "uncertainty_w", component.uncertainty);
    entry["provenance"] = provenance_name(component.provenance);
    components[to_valid_utf8(name)] = std::move(entry);
  }
  put_object(object, "components", std::move(components));
  put(object, "power_w", baseline.power);
  put(object, "power_uncertainty_w", baseline.power_uncertainty);
  put(object, "energy_j", baseline.energy);
  put(object, "energy_uncertainty_j", baseline.energy_uncertainty);
  put(object, "above_baseline_j", baseline.above);
  put(object, "above_baseline_uncertainty_j", baseline.above_uncertainty);
  put(object, "estimated_power_w", baseline.estimated_power);
  put(object, "estimated_j", baseline.estimated);
  put(object, "cpu_busy_share", baseline.cpu_busy_share);
  if (!baseline.notes.empty()) {
    put(object, "notes", baseline.notes);
  }
  return object;
}

Json write_rank(const RankRecord& rank) {
  Json object = Json::object();
  put(object, "rank", rank.rank);
  put(object, "node", rank.node);
  put(object, "exit_status", rank.exit_status);
  put(object, "signal", rank.signal);
  put(object, "duration_s", rank.duration);
  put(object, "ended_at", rank.ended_at);
  return object;
}

Json write_node(const NodeRecord& node) {
  Json object = Json::object();
  put(object, "host", node.host);
  if (!node.node.empty()) {
    put(object, "node", node.node);
  }
  put(object, "energy_j", node.energy);
  put(object, "estimated_j", node.estimated);
  put_object(object, "components", write_components(node.components));
  return object;
}

Json write_hardware(const HardwareRecord& hardware) {
  Json object = Json::object();
  put(object, "gpu_model", hardware.gpu_model);
  put(object, "gpus_per_node", hardware.gpus_per_node);
  put(object, "cpu_model", hardware.cpu_model);
  put(object, "sockets", hardware.sockets);
  put(object, "cores", hardware.cores);
  put(object, "memory_bytes", hardware.memory_bytes);
  put(object, "driver", hardware.driver);
  return object;
}

Json write_source(const SourceRecord& source) {
  Json object = Json::object();
  put(object, "name", source.name);
  put(object, "domain", source.domain);
  put(object, "energy_j", source.energy);
  object["provenance"] = provenance_name(source.provenance);
  put(object, "update_period_s", source.update_period);
  put(object, "samples", source.samples);
  put(object, "missed", source.missed);
  put(object, "wraps", source.wraps);
  put(object, "resets", source.resets);
  put(object, "late_start_s", source.late_start);
  return object;
}

Json write_metric(const MetricRecord& metric) {
  Json object = Json::object();
  put(object, "name", metric.name);
  put(object, "node", metric.node);
  put(object, "unit", metric.unit);
  put(object, "mean", metric.mean);
  put(object, "minimum", metric.minimum);
  put(object, "maximum", metric.maximum);
  put(object, "difference", metric.difference);
  put(object, "mean_rate", metric.mean_rate);
  Json shares = Json::object();
  for (const auto& [bit, share] : metric.bit_shares) {
    put(shares, bit.c_str(), share);
  }
  put_object(object, "bit_shares", std::move(shares));
  put(object, "samples", metric.samples);
  return object;
}

Json write_region(const RegionRecord& region) {
  Json object = Json::object();
  put(object, "name", region.name);
  put(object, "count", region.count);
  put(object, "seconds", region.duration);
  put(object, "energy_j", region.energy);
  put(object, "estimated_j", region.estimated);
  put(object, "uncertainty_j", region.uncertainty);
  return object;
}

Json write_training(const TrainingRecord& training) {
  Json object = Json::object();
  put(object, "model", training.model);
  put(object, "stage", training.stage);
  put(object, "dataset", training.dataset);
  put(object, "epochs", training.epochs);
  put(object, "samples", training.samples);
  put(object, "updates", training.updates);
  put(object, "local_batch_size", training.local_batch_size);
  put(object, "global_batch_size", training.global_batch_size);
  put(object, "accumulation_steps", training.accumulation_steps);
  put(object, "seed", training.seed);
  put(object, "top1_error", training.top1_error);
  put(object, "top5_error", training.top5_error);
  put(object, "loss", training.loss);
  Json metrics = Json::object();
  for (const auto& [name, value] : training.metrics) {
    put(metrics, name.c_str(), value);
  }
  put_object(object, "metrics", std::move(metrics));
  Json phases = Json::object();
  for (const auto& [name, phase] : training.phases) {
    Json entry = Json::object();
    put(entry, "seconds", phase.duration);
    put(entry, "energy_j", phase.energy);
    put(entry, "estimated_j", phase.estimated);
    put(entry, "uncertainty_j", phase.uncertainty);
    phases[name] = std::move(entry);
  }
  put_object(object, "phases", std::move(phases));
  return object;
}

Json write_study(const StudyRecord& study) {
  Json object = Json::object();
  put(object, "name", study.name);
  put(object, "series", study.series);
  if (!study.more_series.empty()) {
    put(object, "more_series", study.more_series);
  }
  put(object, "repetition", study.repetition);
  Json axes = Json::object();
  for (const auto& [name, value] : study.axes) {
    std::visit([&axes, &key = name](const auto& v) { put(axes, key.c_str(), v); }, value);
  }
  put_object(object, "axes", std::move(axes));
  return object;
}

Json write_run(const RunRecord& run) {
  Json object = Json::object();
  object["schema"] = kRunSchema;
  put(object, "id", run.id);
  if (!run.command.empty()) {
    put(object, "command", run.command);
  }
  put(object, "started_at", run.started_at);
  put(object, "duration_s", run.duration);
  put(object, "exit_status", run.exit_status);
  put(object, "signal", run.signal);
  object["ranks"] = Json::array();
  for (const RankRecord& rank : run.ranks) {
    object["ranks"].push_back(write_rank(rank));
  }
  object["launch"] = Json::object();
  put(object["launch"], "key", run.launch.key);
  put(object["launch"], "launcher", run.launch.launcher);
  put(object["launch"], "expected_ranks", run.launch.expected_ranks);
  put(object, "version", run.version);
  object["nodes"] = Json::array();
  for (const NodeRecord& node : run.nodes) {
    object["nodes"].push_back(write_node(node));
  }
  put(object["devices"], "kind", run.devices.kind);
  put(object["devices"], "count", run.devices.count);
  put(object, "device_hours", run.device_hours);
  put_object(object, "hardware", write_hardware(run.hardware));
  object["energy"] = write_energy(run.energy);
  if (run.baseline) {
    object["baseline"] = write_baseline(*run.baseline);
  }
  Json power = Json::object();
  put(power, "mean_w", run.power.mean);
  put(power, "peak_w", run.power.peak);
  put(power, "peak_uncertainty_w", run.power.peak_uncertainty);
  put(power, "peak_window_s", run.power.peak_window);
  put_object(object, "power", std::move(power));
  object["sources"] = Json::array();
  for (const SourceRecord& source : run.sources) {
    object["sources"].push_back(write_source(source));
  }
  Json source_notes = Json::array();
  for (const SourceNote& note : run.source_notes) {
    Json entry = Json::object();
    put(entry, "source", note.source);
    put(entry, "node", note.node);
    put(entry, "note", note.note);
    if (note.missing) {
      entry["missing"] = true;
    }
    source_notes.push_back(std::move(entry));
  }
  put_object(object, "source_notes", std::move(source_notes));
  Json metrics = Json::array();
  for (const MetricRecord& metric : run.metrics) {
    metrics.push_back(write_metric(metric));
  }
  put_object(object, "metrics", std::move(metrics));
  object["regions"] = Json::array();
  for (const RegionRecord& region : run.regions) {
    object["regions"].push_back(write_region(region));
  }
  Json overhead = Json::object();
  put(overhead, "cpu_s", run.overhead.cpu_time);
  put(overhead, "peak_rss_bytes", run.overhead.peak_rss_bytes);
  put_object(object, "overhead", std::move(overhead));
  put(object, "flags", run.flags);
  if (run.training) {
    object["training"] = write_training(*run.training);
  }
  if (run.study) {
    object["study"] = write_study(*run.study);
  }
  if (run.scheduler) {
    Json scheduler = Json::object();
    put(scheduler, "job_id", run.scheduler->job_id);
    put(scheduler, "partition", run.scheduler->partition);
    put(scheduler, "energy_j", run.scheduler->energy);
    object["scheduler"] = std::move(scheduler);
  }
  return object;
}

std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string format_run_record(const RunRecord& run) { return dump(write_run(run)); }

std::string format_study_record(const StudyRecord& study) { return dump(write_study(study)); }

std::string format_training_record(const TrainingRecord& training) {
  return dump(write_training(training));
}

}  // namespace joulescale
