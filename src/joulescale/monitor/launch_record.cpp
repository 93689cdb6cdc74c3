// SPDX-License-Identifier: Apache-2.0
// launch.json.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "joulescale/base/file.h"
#include "joulescale/base/text.h"
#include "joulescale/monitor/launch.h"
#include "joulescale/record/run_json.h"

namespace joulescale {
namespace {

using Json = nlohmann::ordered_json;

Json text_array(const std::vector<std::string>& values) {
  Json array = Json::array();
  for (const std::string& value : values) {
    array.push_back(to_valid_utf8(value));
  }
  return array;
}

std::vector<std::string> get_texts(const Json& json, const char* key) {
  std::vector<std::string> values;
  if (json.contains(key) && json[key].is_array()) {
    for (const Json& value : json[key]) {
      if (value.is_string()) {
        values.push_back(value.get<std::string>());
      }
    }
  }
  return values;
}

std::string get_text(const Json& json, const char* key) {
  return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : "";
}

}  // namespace

std::string format_launch(const LaunchInfo& launch) {
  Json json = Json::object();
  json["schema"] = kLaunchSchema;
  json["id"] = launch.id;
  json["key"] = to_valid_utf8(launch.key);
  json["launcher"] = launch.launcher;
  json["expected_ranks"] = launch.expected_ranks;
  if (!launch.command.empty()) {
    json["command"] = text_array(launch.command);
  }
  json["started_at"] = launch.started_at;
  json["version"] = launch.version;
  json["environment"] = Json::object();
  for (const auto& [name, value] : launch.environment) {
    json["environment"][to_valid_utf8(name)] = to_valid_utf8(value);
  }
  if (launch.study) {
    json["study"] = Json::parse(format_study_record(*launch.study));
  }
  json["flags"] = text_array(launch.flags);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<LaunchInfo> parse_launch(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || get_text(json, "schema") != kLaunchSchema) {
    return Error(ErrorCode::kCorruptData, fmt::format("not a {} record", kLaunchSchema));
  }
  LaunchInfo launch;
  launch.id = get_text(json, "id");
  launch.key = get_text(json, "key");
  launch.launcher = get_text(json, "launcher");
  if (json.contains("expected_ranks") && json["expected_ranks"].is_number_integer()) {
    launch.expected_ranks = json["expected_ranks"].get<int>();
  }
  launch.command = get_texts(json, "command");
  launch.started_at = get_text(json, "started_at");
  launch.version = get_text(json, "version");
  if (json.contains("environment") && json["environment"].is_object()) {
    for (const auto& [name, value] : json["environment"].items()) {
      if (value.is_string()) {
        launch.environment[name] = value.get<std::string>();
      }
    }
  }
  if (json.contains("study")) {
    JOULESCALE_TRY_ASSIGN(launch.study, parse_study_record(json["study"].dump()));
  }
  launch.flags = get_texts(json, "flags");
  return launch;
}

Result<LaunchInfo> read_launch(const RunDirectory& directory) {
  const auto wrong = [](std::string text) {
    return Error(ErrorCode::kInvalidArgument, std::move(text));
  };
  std::error_code error;
  if (!std::filesystem::exists(directory.launch_file(), error) && !error) {
    return wrong(
        fmt::format("'{}' is no run directory: it has no launch.json; name the directory "
                    "that joulescale monitor made (--output)",
                    directory.path.native()));
  }
  const auto text = read_file(directory.launch_file());
  if (!text) {
    return wrong(fmt::format("{} (whoever measured can share it: chmod -R go+rX {})",
                             text.error().text(),
                             directory.path.native()));
  }
  auto launch = parse_launch(*text);
  if (!launch) {
    return wrong(fmt::format("'{}': {}", directory.launch_file().native(), launch.error().text()));
  }
  return launch;
}

}  // namespace joulescale
