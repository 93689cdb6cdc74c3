// SPDX-License-Identifier: Apache-2.0
// Each struct has one write_*() and one read_*() with the same keys in the same order. Reading
// reports the first wrong key by its path; absent keys leave the field's default.
#include "joulescale/record/run_json.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "joulescale/base/file.h"
#include "joulescale/base/text.h"

namespace joulescale {
namespace {

using Json = nlohmann::ordered_json;

// ---- writing ----

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

Json write_rank(const RankRecord& rank) {
  Json object = Json::object();
  put(object, "rank", rank.rank);
  put(object, "node", rank.node);
  put(object, "exit_status", rank.exit_status);
  put(object, "signal", rank.signal);
  put(object, "duration_s", rank.duration);
  return object;
}

Json write_node(const NodeRecord& node) {
  Json object = Json::object();
  put(object, "host", node.host);
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
  put(object["launch"], "key", run.launch.key);
  put(object["launch"], "launcher", run.launch.launcher);
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
  Json power = Json::object();
  put(power, "mean_w", run.power.mean);
  put(power, "peak_w", run.power.peak);
  put_object(object, "power", std::move(power));
  object["sources"] = Json::array();
  for (const SourceRecord& source : run.sources) {
    object["sources"].push_back(write_source(source));
  }
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

// ---- reading ----

/// Reads an object's members; remembers the first wrong one. Sub-readers report to the same place.
class ObjectReader {
 public:
  ObjectReader(const Json& json, std::string path, std::string& problem)
      : json_(json), path_(std::move(path)), problem_(problem) {
    if (!json_.is_object()) {
      fail("", "an object");
    }
  }

  void get(const char* key, std::string& out) { get_if(key, &Json::is_string, "a string", out); }
  void get(const char* key, double& out) { get_if(key, &Json::is_number, "a number", out); }
  void get(const char* key, std::int64_t& out) { get_integer(key, out); }
  void get(const char* key, std::uint64_t& out) { get_integer(key, out); }
  void get(const char* key, int& out) {
    std::int64_t wide = out;
    get_integer(key, wide);
    if (!std::in_range<int>(wide)) {
      fail(key, "a smaller integer");
      return;
    }
    out = static_cast<int>(wide);
  }
  template <typename Tag>
  void get(const char* key, Unit<Tag>& out) {
    double value = out.value();
    get(key, value);
    out = Unit<Tag>(value);
  }
  template <typename T>
  void get(const char* key, std::optional<T>& out) {
    if (find(key) != nullptr) {
      get(key, out.emplace());
    }
  }
  void get(const char* key, std::vector<std::string>& out) {
    for_each_item(key, [&](const Json& item, const std::string&) {
      if (item.is_string()) {
        out.push_back(item.get<std::string>());
      } else {
        fail(key, "an array of strings");
      }
    });
  }
  void get(const char* key, Provenance& out) {
    std::string name(provenance_name(out));
    get(key, name);
    if (const auto provenance = provenance_from_name(name)) {
      out = *provenance;
    } else {
      fail(key, "measured, integrated or estimated");
    }
  }

  /// Calls visit(ObjectReader&) for the object at `key`, if there is one.
  template <typename Visit>
  void object(const char* key, Visit visit) {
    if (const Json* member = find(key)) {
      ObjectReader reader(*member, path_of(key), problem_);
      visit(reader);
    }
  }
  /// Calls visit(name, ObjectReader&) for each object in the object at `key`.
  template <typename Visit>
  void each_member(const char* key, Visit visit) {
    if (const Json* member = find(key); member != nullptr && member->is_object()) {
      for (const auto& [name, value] : member->items()) {
        ObjectReader reader(value, path_of(key) + "." + name, problem_);
        visit(name, reader);
      }
    }
  }
  /// Calls visit(ObjectReader&) for each object in the array at `key`.
  template <typename Visit>
  void each_element(const char* key, Visit visit) {
    for_each_item(key, [&](const Json& item, const std::string& path) {
      ObjectReader reader(item, path, problem_);
      visit(reader);
    });
  }
  /// Calls visit(name, value) for each member of the object at `key`.
  template <typename Visit>
  void each_value(const char* key, Visit visit) {
    if (const Json* member = find(key); member != nullptr && member->is_object()) {
      for (const auto& [name, value] : member->items()) {
        visit(name, value);
      }
    }
  }
  void fail(const char* key, std::string_view wanted) {
    if (problem_.empty()) {
      problem_ = fmt::format("'{}' is not {}", path_of(key), wanted);
    }
  }
  bool has(const char* key) const { return find(key) != nullptr; }

 private:
  const Json* find(const char* key) const {
    if (!json_.is_object()) {
      return nullptr;
    }
    const auto member = json_.find(key);
    return member == json_.end() ? nullptr : &*member;
  }
  std::string path_of(std::string_view key) const {
    if (path_.empty() || key.empty()) {
      return path_ + std::string(key);
    }
    return fmt::format("{}.{}", path_, key);
  }
  template <typename T>
  void get_if(const char* key, bool (Json::*is_kind)() const noexcept, const char* kind, T& out) {
    if (const Json* member = find(key)) {
      if ((member->*is_kind)()) {
        out = member->get<T>();
      } else {
        fail(key, kind);
      }
    }
  }
  template <typename T>
  void get_integer(const char* key, T& out) {
    const Json* member = find(key);
    if (member == nullptr) {
      return;
    }
    if (!member->is_number_integer()) {
      fail(key, "an integer");
    } else if (member->is_number_unsigned()) {
      const auto value = member->get<std::uint64_t>();
      if (std::in_range<T>(value)) {
        out = static_cast<T>(value);
      } else {
        fail(key, "a smaller integer");
      }
    } else if (const auto value = member->get<std::int64_t>(); std::in_range<T>(value)) {
      out = static_cast<T>(value);
    } else {
      fail(key, "0 or more");
    }
  }
  template <typename Visit>
  void for_each_item(const char* key, Visit visit) {
    const Json* member = find(key);
    if (member == nullptr) {
      return;
    }
    if (!member->is_array()) {
      fail(key, "an array");
      return;
    }
    for (std::size_t i = 0; i < member->size(); ++i) {
      visit((*member)[i], fmt::format("{}[{}]", path_of(key), i));
    }
  }

  const Json& json_;
  std::string path_;
  std::string& problem_;
};

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

void read_measurement(ObjectReader& reader, RunRecord& run) {
  reader.each_element("nodes", [&](ObjectReader& entry) {
    NodeRecord& node = run.nodes.emplace_back();
    entry.get("host", node.host);
    entry.get("energy_j", node.energy);
    entry.get("estimated_j", node.estimated);
    node.components = read_components(entry);
  });
  reader.object("devices", [&](ObjectReader& entry) {
    entry.get("kind", run.devices.kind);
    entry.get("count", run.devices.count);
  });
  reader.get("device_hours", run.device_hours);
  reader.object("hardware", [&](ObjectReader& entry) { run.hardware = read_hardware(entry); });
  reader.object("energy", [&](ObjectReader& entry) { run.energy = read_energy(entry); });
  reader.object("power", [&](ObjectReader& entry) {
    entry.get("mean_w", run.power.mean);
    entry.get("peak_w", run.power.peak);
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
  });
  reader.object("launch", [&](ObjectReader& entry) {
    entry.get("key", run.launch.key);
    entry.get("launcher", run.launch.launcher);
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

std::string format_run_record(const RunRecord& run) { return dump(write_run(run)); }

Result<RunRecord> parse_run_record(std::string_view text) { return parse_with(text, read_run); }

Result<RunRecord> read_run_record(const std::filesystem::path& file) {
  JOULESCALE_TRY_ASSIGN(const std::string text, read_file(file));
  auto run = parse_run_record(text);
  if (!run) {
    return std::move(run).error().with_context(file.native());
  }
  return run;
}

std::string format_study_record(const StudyRecord& study) { return dump(write_study(study)); }

Result<StudyRecord> parse_study_record(std::string_view text) {
  return parse_with(text, read_study);
}

std::string format_training_record(const TrainingRecord& training) {
  return dump(write_training(training));
}

Result<TrainingRecord> parse_training_record(std::string_view text) {
  return parse_with(text, read_training);
}

}  // namespace joulescale
