// SPDX-License-Identifier: Apache-2.0
#include "joulescale/sweep/overview.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "joulescale/sweep/plan.h"

namespace joulescale {
namespace {

using Json = nlohmann::ordered_json;
using Row = std::vector<std::string>;

std::string underline(const std::vector<std::size_t>& widths) {
  std::string line;
  for (const std::size_t width : widths) {
    line += (line.empty() ? "" : "  ") + std::string(width, '-');
  }
  return line + "\n";
}

/// Columns padded to their widest cell, the first row underlined.
std::string format_table(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += fmt::format("{:<{}}  ", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
    text += &row == &rows.front() ? underline(widths) : "";
  }
  return text;
}

std::string all_series(const PlannedRun& run) {
  return run.more_series.empty()
             ? run.series
             : fmt::format("{}, {}", run.series, fmt::join(run.more_series, ", "));
}

Json configuration_json(const PlannedRun& run) {
  Json object;
  object["name"] = run.name;
  object["devices"] = run.configuration.devices;
  object["local_batch_size"] = run.configuration.local_batch_size;
  object["accumulation_steps"] = run.configuration.accumulation_steps;
  object["global_batch_size"] = run.configuration.global_batch_size();
  object["repetition"] = run.repetition;
  object["seed"] = run.seed;
  object["series"] = Json::array({run.series});
  for (const std::string& series : run.more_series) {
    object["series"].push_back(series);
  }
  return object;
}

/// The state to show: "running" for the one interrupted run while a sweep works on the study.
std::string shown_state(const RunStatus& status, bool is_running) {
  return is_running && status.state == RunState::kInterrupted
             ? "running"
             : std::string(run_state_name(status.state));
}

std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string plan_as_table(const StudySpec& spec, const StudyDirectory& directory) {
  const Plan plan = make_plan(spec);
  std::vector<Row> rows = {
      {"run", "devices", "LBS", "accumulation", "GBS", "repetition", "seed", "series", "state"}};
  std::set<Configuration> configurations;
  std::size_t num_done = 0;
  for (const PlannedRun& run : plan.runs) {
    const RunState state = directory.inspect(spec, run).state;
    num_done += state == RunState::kDone ? 1 : 0;
    configurations.insert(run.configuration);
    rows.push_back({run.name,
                    std::to_string(run.configuration.devices),
                    std::to_string(run.configuration.local_batch_size),
                    std::to_string(run.configuration.accumulation_steps),
                    std::to_string(run.configuration.global_batch_size()),
                    std::to_string(run.repetition),
                    std::to_string(run.seed),
                    all_series(run),
                    state == RunState::kDone ? "done, skipped" : "to run"});
  }
  std::string text = format_table(rows);
  for (const std::string& line : plan.merged) {
    text += "merged: " + line + "\n";
  }
  text += fmt::format("{} runs of {} configurations, {} done already\n",
                      plan.runs.size(),
                      configurations.size(),
                      num_done);
  return text;
}

std::string plan_as_json(const StudySpec& spec, const StudyDirectory& directory) {
  const Plan plan = make_plan(spec);
  Json object;
  object["study"] = spec.name;
  object["num_runs"] = plan.runs.size();
  object["runs"] = Json::array();
  for (const PlannedRun& run : plan.runs) {
    Json entry = configuration_json(run);
    entry["done"] = directory.inspect(spec, run).state == RunState::kDone;
    entry["command"] = run_command(spec, run, directory.paths_of(run.name), "joulescale");
    object["runs"].push_back(std::move(entry));
  }
  object["merged"] = plan.merged;
  return dump(object);
}

std::string status_as_table(const StudySpec& spec, const StudyDirectory& directory) {
  std::vector<Row> rows = {{"run", "state", "attempts", "duration_s", "series", "detail"}};
  std::map<std::string, int> counts;
  const bool is_running = directory.locked_by_another();
  for (const PlannedRun& run : make_plan(spec).runs) {
    const RunStatus status = directory.inspect(spec, run);
    const std::string state = shown_state(status, is_running);
    ++counts[state];
    rows.push_back({run.name,
                    state,
                    std::to_string(status.attempts),
                    status.duration_s ? fmt::format("{:.1f}", *status.duration_s) : "-",
                    all_series(run),
                    state == "running" ? "" : status.detail});
  }
  std::string text = format_table(rows);
  std::vector<std::string> summary;
  summary.reserve(counts.size());
  for (const auto& [state, count] : counts) {
    summary.push_back(fmt::format("{} {}", count, state));
  }
  return text + fmt::format("{} runs: {}\n", rows.size() - 1, fmt::join(summary, ", "));
}

std::string status_as_json(const StudySpec& spec, const StudyDirectory& directory) {
  const bool is_running = directory.locked_by_another();
  Json object;
  object["study"] = spec.name;
  object["directory"] = directory.path().native();
  object["running"] = is_running;
  std::map<std::string, int> counts;
  Json runs = Json::array();
  for (const PlannedRun& run : make_plan(spec).runs) {
    const RunStatus status = directory.inspect(spec, run);
    Json entry = configuration_json(run);
    entry["state"] = shown_state(status, is_running);
    entry["attempts"] = status.attempts;
    if (status.duration_s) {
      entry["duration_s"] = *status.duration_s;
    }
    if (!status.detail.empty() && entry["state"] != "running") {
      entry["detail"] = status.detail;
    }
    ++counts[entry["state"].get<std::string>()];
    runs.push_back(std::move(entry));
  }
  object["counts"] = counts;
  object["runs"] = std::move(runs);
  return dump(object);
}

}  // namespace joulescale
