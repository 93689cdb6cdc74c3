// SPDX-License-Identifier: Apache-2.0
// run.json to RunRecord: one read_*() a struct. The first wrong key is reported by its path; absent
// keys leave the field's default.
#include <utility>

#include <nlohmann/json.hpp>

#include "joulescale/base/file.h"
#include "joulescale/record/object_reader.h"
#include "joulescale/record/run_json.h"

namespace joulescale {
namespace {

using internal::Json;
using internal::ObjectReader;

ComponentMap read_components(ObjectReader& parent) {
  ComponentMap components;
  parent.each_member("components", [&](const std::string& name, ObjectReader& entry) {
    ComponentEnergy& component = components[name];
    entry.get("energy_j", component.energy);
    entry.get("uncertainty_j", component.uncertainty);
    entry.get("provenance", component.provenance);
    entry.get("integrated_j", component.integrated);
    entry.get("overlaps", component.overlaps);
    entry.get("instrument_accuracy", component.instrument_accuracy);
    entry.each_value("inputs", [&](const std::string& input, const Json& value) {
      component.inputs[input] = value.is_string() ? value.get<std::string>() : value.dump();
    });
  });
  return components;
}

EnergyRecord read_energy(ObjectReader& reader) {
  EnergyRecord energy;
  reader.get("total_j", energy.total);
  reader.get("total_uncertainty_j", energy.total_uncertainty);
  reader.get("total_includes", energy.total_includes);
  reader.get("instrument_accuracy", energy.instrument_accuracy);
  reader.get("estimated_j", energy.estimated);
  reader.get("total_with_estimates_j", energy.total_with_estimates);
  energy.components = read_components(reader);
  return energy;
}

BaselineRecord read_baseline(ObjectReader& reader) {
  BaselineRecord baseline;
  reader.get("duration_s", baseline.duration);
  reader.each_member("components", [&](const std::string& name, ObjectReader& entry) {
    BaselinePower& component = baseline.components[name];
    entry.get("power_w", component.power);
    entry.get("uncertainty_w", component.uncertainty);
    entry.get("provenance", component.provenance);
  });
  reader.get("power_w", baseline.power);
  reader.get("power_uncertainty_w", baseline.power_uncertainty);
  reader.get("energy_j", baseline.energy);
  reader.get("energy_uncertainty_j", baseline.energy_uncertainty);
  if (reader.has("above_baseline_j")) {  // the one energy that may be negative
    double above_j = 0.0;
    reader.get("above_baseline_j", above_j);
    baseline.above = Joules(above_j);
  }
  reader.get("above_baseline_uncertainty_j", baseline.above_uncertainty);
  reader.get("estimated_power_w", baseline.estimated_power);
  reader.get("estimated_j", baseline.estimated);
  reader.get("cpu_busy_share", baseline.cpu_busy_share);
  reader.get("notes", baseline.notes);
  return baseline;
}

TrainingRecord read_training(ObjectReader& reader) {
  TrainingRecord training;
  reader.get("model", training.model);
  reader.get("stage", training.stage);
  reader.get("dataset", training.dataset);
  reader.get("epochs", training.epochs);
  reader.get("samples", training.samples);
  reader.get("updates", training.updates);
  reader.get("local_batch_size", training.local_batch_size);
  reader.get("global_batch_size", training.global_batch_size);
  reader.get("accumulation_steps", training.accumulation_steps);
  reader.get("seed", training.seed);
  reader.get("top1_error", training.top1_error);
  reader.get("top5_error", training.top5_error);
  reader.get("loss", training.loss);
  reader.each_value("metrics", [&](const std::string& name, const Json& value) {
    if (value.is_number()) {
      training.metrics[name] = value.get<double>();
    } else {
      reader.fail("metrics", "an object of numbers");
    }
  });
  reader.each_member("phases", [&](const std::string& name, ObjectReader& entry) {
    PhaseRecord& phase = training.phases[name];
    entry.get("seconds", phase.duration);
    entry.get("energy_j", phase.energy);
    entry.get("estimated_j", phase.estimated);
    entry.get("uncertainty_j", phase.uncertainty);
  });
  return training;
}

StudyRecord read_study(ObjectReader& reader) {
  StudyRecord study;
  reader.get("name", study.name);
  reader.get("series", study.series);
  reader.get("more_series", study.more_series);
  reader.get("repetition", study.repetition);
  reader.each_value("axes", [&](const std::string& name, const Json& value) {
    if (value.is_number_integer()) {
      study.axes[name] = value.get<std::int64_t>();
    } else if (value.is_number()) {
      study.axes[name] = value.get<double>();
    } else if (value.is_string()) {
      study.axes[name] = value.get<std::string>();
    } else {
      reader.fail("axes", "an object of numbers and strings");
    }
  });
  return study;
}

HardwareRecord read_hardware(ObjectReader& reader) {
  HardwareRecord hardware;
  reader.get("gpu_model", hardware.gpu_model);
  reader.get("gpus_per_node", hardware.gpus_per_node);
  reader.get("cpu_model", hardware.cpu_model);
  reader.get("sockets", hardware.sockets);
  reader.get("cores", hardware.cores);
  reader.get("memory_bytes", hardware.memory_bytes);
  reader.get("driver", hardware.driver);
  return hardware;
}

MetricRecord read_metric(ObjectReader& reader) {
  MetricRecord metric;
  reader.get("name", metric.name);
  reader.get("node", metric.node);
  reader.get("unit", metric.unit);
  reader.get("mean", metric.mean);
  reader.get("minimum", metric.minimum);
  reader.get("maximum", metric.maximum);
  reader.get("difference", metric.difference);
  reader.get("mean_rate", metric.mean_rate);
  reader.each_value("bit_shares", [&](const std::string& bit, const Json& value) {
    if (value.is_number()) {
      metric.bit_shares[bit] = value.get<double>();
    } else {
      reader.fail("bit_shares", "an object of numbers");
    }
  });
  reader.get("samples", metric.samples);
  return metric;
}

void read_measurement(ObjectReader& reader, RunRecord& run) {
  reader.each_element("nodes", [&](ObjectReader& entry) {
    NodeRecord& node = run.nodes.emplace_back();
    entry.get("host", node.host);
    entry.get("node", node.node);
    entry.get("energy_j", node.energy);
    entry.get("estimated_j", node.estimated);
    node.components = read_components(entry);
  });
  reader.object("devices", [&](ObjectReader& entry) {
    entry.get("kind", run.devices.kind);
    entry.get("count", run.devices.count);
  });
  reader.get("device_hours", run.device_hours);
  if (run.device_hours < 0.0) {
    reader.fail("device_hours", "0 or more");
  }
  reader.object("hardware", [&](ObjectReader& entry) { run.hardware = read_hardware(entry); });
  reader.object("energy", [&](ObjectReader& entry) { run.energy = read_energy(entry); });
  reader.object("baseline", [&](ObjectReader& entry) { run.baseline = read_baseline(entry); });
  reader.object("power", [&](ObjectReader& entry) {
    entry.get("mean_w", run.power.mean);
    entry.get("peak_w", run.power.peak);
    entry.get("peak_uncertainty_w", run.power.peak_uncertainty);
    entry.get("peak_window_s", run.power.peak_window);
  });
  reader.each_element("sources", [&](ObjectReader& entry) {
    SourceRecord& source = run.sources.emplace_back();
    entry.get("name", source.name);
    entry.get("domain", source.domain);
    entry.get("energy_j", source.energy);
    entry.get("provenance", source.provenance);
    entry.get("update_period_s", source.update_period);
    entry.get("samples", source.samples);
    entry.get("missed", source.missed);
    entry.get("wraps", source.wraps);
    entry.get("resets", source.resets);
    entry.get("late_start_s", source.late_start);
  });
  reader.each_element("source_notes", [&](ObjectReader& entry) {
    SourceNote& note = run.source_notes.emplace_back();
    entry.get("source", note.source);
    entry.get("node", note.node);
    entry.get("note", note.note);
    entry.get("missing", note.missing);
  });
  reader.each_element("metrics",
                      [&](ObjectReader& entry) { run.metrics.push_back(read_metric(entry)); });
  reader.each_element("regions", [&](ObjectReader& entry) {
    RegionRecord& region = run.regions.emplace_back();
    entry.get("name", region.name);
    entry.get("count", region.count);
    entry.get("seconds", region.duration);
    entry.get("energy_j", region.energy);
    entry.get("estimated_j", region.estimated);
    entry.get("uncertainty_j", region.uncertainty);
  });
  reader.object("overhead", [&](ObjectReader& entry) {
    entry.get("cpu_s", run.overhead.cpu_time);
    entry.get("peak_rss_bytes", run.overhead.peak_rss_bytes);
  });
}

RunRecord read_run(ObjectReader& reader) {
  RunRecord run;
  std::string schema;
  reader.get("schema", schema);
  if (schema != kRunSchema) {
    reader.fail("schema", kRunSchema);
    return run;
  }
  for (const char* key : {"id", "started_at", "duration_s", "launch", "energy", "devices"}) {
    if (!reader.has(key)) {
      reader.fail(key, "there");
    }
  }
  reader.get("id", run.id);
  reader.get("command", run.command);
  reader.get("started_at", run.started_at);
  reader.get("duration_s", run.duration);
  reader.get("exit_status", run.exit_status);
  reader.get("signal", run.signal);
  reader.each_element("ranks", [&](ObjectReader& entry) {
    RankRecord& rank = run.ranks.emplace_back();
    entry.get("rank", rank.rank);
    entry.get("node", rank.node);
    entry.get("exit_status", rank.exit_status);
    entry.get("signal", rank.signal);
    entry.get("duration_s", rank.duration);
    entry.get("ended_at", rank.ended_at);
  });
  reader.object("launch", [&](ObjectReader& entry) {
    entry.get("key", run.launch.key);
    entry.get("launcher", run.launch.launcher);
    entry.get("expected_ranks", run.launch.expected_ranks);
  });
  reader.get("version", run.version);
  read_measurement(reader, run);
  reader.get("flags", run.flags);
  reader.object("training", [&](ObjectReader& entry) { run.training = read_training(entry); });
  reader.object("study", [&](ObjectReader& entry) { run.study = read_study(entry); });
  reader.object("scheduler", [&](ObjectReader& entry) {
    SchedulerRecord& scheduler = run.scheduler.emplace();
    entry.get("job_id", scheduler.job_id);
    entry.get("partition", scheduler.partition);
    entry.get("energy_j", scheduler.energy);
  });
  return run;
}

/// Parses `text` and reads it with `read`; JSON and key errors become kCorruptData.
template <typename Read>
auto parse_with(std::string_view text, Read read)
    -> Result<decltype(read(std::declval<ObjectReader&>()))> {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) {
    return Error(ErrorCode::kCorruptData, "not valid JSON (truncated or damaged)");
  }
  std::string problem;
  ObjectReader reader(json, "", problem);
  auto value = read(reader);
  if (!problem.empty()) {
    return Error(ErrorCode::kCorruptData, problem);
  }
  return value;
}

}  // namespace

Result<RunRecord> parse_run_record(std::string_view text) { return parse_with(text, read_run); }

Result<RunRecord> read_run_record(const std::filesystem::path& file) {
  JOULESCALE_TRY_ASSIGN(const std::string text, read_file(file));
  auto run = parse_run_record(text);
  if (!run) {
    return std::move(run).error().with_context(file.native());
  }
  return run;
}

Result<StudyRecord> parse_study_record(std::string_view text) {
  return parse_with(text, [](ObjectReader& reader) {
    reader.allow_only({"name", "series", "more_series", "repetition", "axes"});
    return read_study(reader);
  });
}

Result<TrainingRecord> parse_training_record(std::string_view text) {
  return parse_with(text, read_training);
}

}  // namespace joulescale
