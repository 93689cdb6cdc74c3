// SPDX-License-Identifier: Apache-2.0
#include "joulescale/config/study_spec.h"

#include <nlohmann/json.hpp>

namespace joulescale {
namespace {

using Json = nlohmann::ordered_json;

Json write_workload(const WorkloadSpec& workload) {
  Json object;
  object["kind"] = workload_kind_name(workload.kind);
  if (workload.kind == WorkloadKind::kCommand) {
    object["argv"] = workload.argv;
    if (workload.samples) {
      object["samples"] = *workload.samples;
    }
    return object;
  }
  Json options = Json::object();
  for (const WorkloadOption& option : workload.options) {
    options[option.name] = option.value ? Json(*option.value) : Json(true);
  }
  object["options"] = std::move(options);
  return object;
}

Json write_monitor(const MonitorSpec& monitor) {
  Json object = Json::object();
  const auto put = [&](const char* key, const auto& value) {
    if (value) {
      object[key] = *value;
    }
  };
  put("rate", monitor.rate_hz);
  put("baseline", monitor.baseline);
  put("root", monitor.root);
  put("nvml_library", monitor.nvml_library);
  put("cpu_thread_watts", monitor.cpu_thread_watts);
  put("ram_watts", monitor.ram_watts);
  return object;
}

Json write_series(const SeriesSpec& series) {
  Json object;
  object["name"] = series.name;
  object["configurations"] = Json::array();
  for (const Configuration& configuration : series.configurations) {
    object["configurations"].push_back({{"devices", configuration.devices},
                                        {"local_batch_size", configuration.local_batch_size},
                                        {"accumulation_steps", configuration.accumulation_steps},
                                        {"global_batch_size", configuration.global_batch_size()}});
  }
  return object;
}

}  // namespace

std::string_view workload_kind_name(WorkloadKind kind) {
  return kind == WorkloadKind::kTrain ? "train" : "command";
}

std::string format_study_spec(const StudySpec& spec) {
  Json object;
  object["schema"] = kStudySchema;
  object["name"] = spec.name;
  object["repetitions"] = spec.repetitions;
  object["seed"] = spec.seed;
  object["retries"] = spec.retries;
  object["workload"] = write_workload(spec.workload);
  object["launcher"]["kind"] = spec.launcher.kind;
  object["monitor"] = write_monitor(spec.monitor);
  object["series"] = Json::array();
  for (const SeriesSpec& series : spec.series) {
    object["series"].push_back(write_series(series));
  }
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace joulescale
