// SPDX-License-Identifier: Apache-2.0
#include "joulescale/report/analysis_json.h"

#include "joulescale/analysis/scaling.h"
#include "joulescale/report/json_values.h"

namespace joulescale {
namespace {

void put_coefficient(Json& fit,
                     Json& intervals,
                     const char* key,
                     const std::optional<Coefficient>& coefficient) {
  if (coefficient) {
    put_value(fit, key, coefficient->value);
    put_interval(intervals, key, coefficient->interval);
  }
}

Json json_of(const Fit& fit) {
  Json object = Json::object();
  Json intervals = Json::object();
  object["form"] = fit_form_name(fit.form);
  put_coefficient(object, intervals, "a", fit.a);
  put_coefficient(object, intervals, "b", fit.b);
  put_coefficient(object, intervals, "c", fit.c);
  put_coefficient(object, intervals, "k", fit.k);
  if (!intervals.empty()) {
    object["intervals"] = std::move(intervals);
  }
  put_value(object, "r2", fit.r2);
  return object;
}

Json json_of(const StudyAnalysis& analysis, const Group& group) {
  Json object = Json::object();
  object["name"] = to_valid_utf8(group.name);
  object["points"] = group.num_points;
  object["fits"] = Json::array();
  for (const Fit& fit : group.fits) {
    object["fits"].push_back(json_of(fit));
  }
  // Speed-ups over all series together would compare unlike with unlike.
  if (group.name != kAllGroup) {
    object["scaling"] = Json::array();
    for (const ScalingPoint& point : scaling_of(analysis, group)) {
      Json entry = Json::object();
      entry["configuration"] = point.configuration;
      entry["reference"] = point.reference;
      put_value(entry, "speedup", point.speedup);
      put_value(entry, "efficiency", point.efficiency);
      put_value(entry, "energy_per_sample_ratio", point.energy_ratio);
      object["scaling"].push_back(std::move(entry));
    }
  }
  return object;
}

Json json_of(const MeasuredConfiguration& configuration) {
  const ConfigurationKey& key = configuration.key;
  Json object = Json::object();
  object["series"] = Json::array();
  for (const std::string& series : configuration.series) {
    object["series"].push_back(to_valid_utf8(series));
  }
  put_value(object, "workload", key.workload);
  put_value(object, "dataset", key.dataset);
  put_value(object, "hardware", key.hardware);
  put_value(object, "device_kind", key.device_kind);
  object["devices"] = key.num_devices;
  put_value(object, "local_batch_size", key.local_batch_size);
  put_value(object, "global_batch_size", key.global_batch_size);
  put_value(object, "accumulation_steps", key.accumulation_steps);
  put_value(object, "epochs", key.epochs);
  put_value(object, "samples", key.samples);
  put_value(object, "dataset_samples", key.dataset_samples);
  put_value(object, "updates", configuration.updates);
  if (configuration.repetitions > 0) {
    object["repetitions"] = configuration.repetitions;
  }
  if (!configuration.energy_includes.empty()) {
    object["energy_includes"] = Json::array();
    for (const std::string& component : configuration.energy_includes) {
      object["energy_includes"].push_back(to_valid_utf8(component));
    }
  }
  put_summary(object, "runtime_s", configuration.runtime_s);
  put_summary(object, "device_hours", configuration.device_hours);
  put_summary(object, "energy_kwh", configuration.energy_kwh);
  put_summary(object, "energy_kwh_per_device_hour", configuration.energy_kwh_per_device_hour);
  put_summary(object, "samples_per_device_hour", configuration.samples_per_device_hour);
  put_summary(object, "updates_per_device_hour", configuration.updates_per_device_hour);
  put_summary(object, "top1_error_percent", configuration.top1_error_percent);
  put_summary(object, "top5_error_percent", configuration.top5_error_percent);
  put_summary(object, "loss", configuration.loss);
  for (const auto& [name, phase] : configuration.phases) {
    Json& entry = object["phases"][to_valid_utf8(name)];
    put_summary(entry, "seconds", phase.seconds);
    put_summary(entry, "share", phase.share);
  }
  return object;
}

}  // namespace

std::string format_analysis_json(const StudyAnalysis& analysis) {
  Json object = Json::object();
  object["schema"] = kAnalysisSchema;
  put_value(object, "name", analysis.name);
  object["energy_basis"] = energy_basis_name(analysis.energy_basis);
  if (analysis.all_estimated) {
    object["all_estimated"] = true;
  }
  object["spread"] = analysis.sample_spread ? "sample_standard_deviation" : "as_given";
  object["complete_runs"] = analysis.num_complete_runs;
  object["failed_runs"] = analysis.num_failed_runs;
  object["groups"] = Json::array();
  for (const Group& group : analysis.groups) {
    object["groups"].push_back(json_of(analysis, group));
  }
  object["configurations"] = Json::array();
  for (const MeasuredConfiguration& configuration : analysis.configurations) {
    object["configurations"].push_back(json_of(configuration));
  }
  object["notes"] = Json::array();
  for (const std::string& note : analysis.notes) {
    object["notes"].push_back(to_valid_utf8(note));
  }
  return object.dump(2) + "\n";
}

}  // namespace joulescale
