// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/rank_record.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "joulescale/base/text.h"

namespace joulescale {
namespace {

using Json = nlohmann::ordered_json;

/// Absent is no error, another type is.
bool get_time(const Json& json, const char* key, std::optional<Nanoseconds>& time) {
  if (!json.contains(key)) {
    return true;
  }
  if (!json[key].is_number_integer() || json[key].get<std::int64_t>() < 0) {
    return false;
  }
  time = Nanoseconds(json[key].get<std::int64_t>());
  return true;
}

void put_process(const ProcessIdentity& process, Json& json) {
  json["pid"] = process.pid;
  json["pid_namespace"] = to_valid_utf8(process.pid_namespace);
  json["pid_start_ticks"] = process.start_ticks;
}

std::optional<ProcessIdentity> get_process(const Json& json) {
  if (!json.is_object() || !json.contains("pid") || !json["pid"].is_number_integer()) {
    return std::nullopt;
  }
  ProcessIdentity process;
  process.pid = json["pid"].get<pid_t>();
  if (json.contains("pid_namespace") && json["pid_namespace"].is_string()) {
    process.pid_namespace = json["pid_namespace"].get<std::string>();
  }
  if (json.contains("pid_start_ticks") && json["pid_start_ticks"].is_number_unsigned()) {
    process.start_ticks = json["pid_start_ticks"].get<std::uint64_t>();
  }
  return process;
}

}  // namespace

bool all_ended(std::span<const RankRecordFile> ranks) {
  return std::ranges::all_of(ranks,
                             [](const RankRecordFile& rank) { return rank.ended.has_value(); });
}

std::string format_rank_record(const RankRecordFile& record) {
  Json json = Json::object();
  json["schema"] = kRankSchema;
  json["rank"] = record.rank;
  json["node_directory"] = to_valid_utf8(record.node_directory);
  put_process(record.monitor, json);
  if (record.command) {
    put_process(*record.command, json["command"]);
  }
  if (record.baseline_began) {
    json["baseline_began_ns"] = record.baseline_began->count();
  }
  if (record.baseline_cpu_busy) {
    json["baseline_cpu_busy"] = *record.baseline_cpu_busy;
  }
  if (record.began) {
    json["began_ns"] = record.began->count();
  }
  if (record.ended) {
    json["ended_ns"] = record.ended->count();
  }
  json["facts"] = Json::parse(format_node_report(record.facts));
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<RankRecordFile> parse_rank_record(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) {
    return Error(ErrorCode::kCorruptData, "not a JSON object (truncated or damaged)");
  }
  RankRecordFile record;
  if (!json.contains("schema") || json["schema"] != kRankSchema) {
    return key_error("schema");
  }
  if (!json.contains("rank") || !json["rank"].is_number_integer()) {
    return key_error("rank");
  }
  record.rank = json["rank"].get<int>();
  if (!json.contains("node_directory") || !json["node_directory"].is_string()) {
    return key_error("node_directory");
  }
  record.node_directory = json["node_directory"].get<std::string>();
  if (record.node_directory.empty() || record.node_directory == "." ||
      record.node_directory == ".." || record.node_directory.find('/') != std::string::npos) {
    return key_error("node_directory");
  }
  const auto monitor = get_process(json);
  if (!monitor) {
    return key_error("pid");
  }
  record.monitor = *monitor;
  if (json.contains("command")) {
    record.command = get_process(json["command"]);
    if (!record.command) {
      return key_error("command");
    }
  }
  if (!get_time(json, "baseline_began_ns", record.baseline_began)) {
    return key_error("baseline_began_ns");
  }
  if (json.contains("baseline_cpu_busy")) {
    if (!json["baseline_cpu_busy"].is_number()) {
      return key_error("baseline_cpu_busy");
    }
    record.baseline_cpu_busy = json["baseline_cpu_busy"].get<double>();
  }
  if (!get_time(json, "began_ns", record.began)) {
    return key_error("began_ns");
  }
  if (!get_time(json, "ended_ns", record.ended)) {
    return key_error("ended_ns");
  }
  if (!json.contains("facts")) {
    return key_error("facts");
  }
  auto facts = parse_node_report(json["facts"].dump());
  if (!facts) {
    return std::move(facts).error().with_context("facts");
  }
  record.facts = std::move(facts).value();
  return record;
}

}  // namespace joulescale
