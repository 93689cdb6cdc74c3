// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/node_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "joulescale/base/text.h"
#include "joulescale/record/run_json.h"

namespace joulescale {
namespace {

using Json = nlohmann::ordered_json;

/// The energies travel as the components of a RunRecord under the keys "0", "1"...: their own
/// reader and writer serve.
std::string group_key(std::size_t index) { return fmt::format("{:06}", index); }

Json write_idle(const BaselinePower& idle) {
  Json json = {{"power_w", idle.power.value()}, {"provenance", provenance_name(idle.provenance)}};
  if (idle.uncertainty) {
    json["uncertainty_w"] = idle.uncertainty->value();
  }
  return json;
}

/// Nothing for what write_idle() does not write.
std::optional<BaselinePower> read_idle(const Json& json) {
  const auto number = [&](const char* key) {
    return json.is_object() && json.contains(key) && json[key].is_number()
               ? std::optional(Watts(json[key].get<double>()))
               : std::nullopt;
  };
  const auto power = number("power_w");
  if (!power || !json.contains("provenance") || !json["provenance"].is_string()) {
    return std::nullopt;
  }
  const auto provenance = provenance_from_name(json["provenance"].get<std::string>());
  return provenance ? std::optional(BaselinePower{*power, number("uncertainty_w"), *provenance})
                    : std::nullopt;
}

}  // namespace

std::string host_of(const NodeReport& report) {
  return report.part.nodes.empty() ? report.identity : report.part.nodes.front().host;
}

std::string format_node_report(const NodeReport& report) {
  RunRecord part = report.part;
  part.energy.components.clear();
  Json groups = Json::array();
  for (std::size_t i = 0; i < report.groups.size(); ++i) {
    const GroupEnergy& group = report.groups[i];
    groups.push_back({{"group", to_valid_utf8(group.group)},
                      {"component", to_valid_utf8(group.component)},
                      {"counted", group.counted}});
    if (group.idle) {
      groups.back()["idle"] = write_idle(*group.idle);
    }
    part.energy.components[group_key(i)] = group.energy;
  }
  Json gpus = Json::array();
  for (const std::string& uuid : report.gpus) {
    gpus.push_back(to_valid_utf8(uuid));
  }
  Json json = Json::object();
  json["schema"] = kNodeSchema;
  json["identity"] = to_valid_utf8(report.identity);
  json["groups"] = std::move(groups);
  json["gpus"] = std::move(gpus);
  json["registered_ranks"] = report.registered_ranks;
  json["part"] = Json::parse(format_run_record(part));
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<NodeReport> parse_node_report(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) {
    return Error(ErrorCode::kCorruptData, "not a JSON object (truncated or damaged)");
  }
  const auto is_text = [&](const Json& object, const char* key) {
    return object.is_object() && object.contains(key) && object[key].is_string();
  };
  NodeReport report;
  if (!is_text(json, "schema") || json["schema"] != kNodeSchema) {
    return key_error("schema");
  }
  if (!is_text(json, "identity")) {
    return key_error("identity");
  }
  report.identity = json["identity"].get<std::string>();
  if (!json.contains("part") || !json.contains("groups") || !json["groups"].is_array()) {
    return key_error("groups");
  }
  auto part = parse_run_record(json["part"].dump());
  if (!part) {
    return std::move(part).error().with_context("part");
  }
  report.part = std::move(part).value();
  for (std::size_t i = 0; i < json["groups"].size(); ++i) {
    const Json& entry = json["groups"][i];
    const auto energy = report.part.energy.components.find(group_key(i));
    if (!is_text(entry, "group") || !is_text(entry, "component") || !entry.contains("counted") ||
        !entry["counted"].is_boolean() || energy == report.part.energy.components.end()) {
      return key_error("groups");
    }
    report.groups.push_back({entry["group"].get<std::string>(),
                             entry["component"].get<std::string>(),
                             entry["counted"].get<bool>(),
                             energy->second,
                             std::nullopt});
    if (entry.contains("idle")) {
      report.groups.back().idle = read_idle(entry["idle"]);
      if (!report.groups.back().idle) {
        return key_error("idle");
      }
    }
  }
  report.part.energy.components.clear();
  if (json.contains("gpus") && json["gpus"].is_array()) {
    for (const Json& uuid : json["gpus"]) {
      if (!uuid.is_string()) {
        return key_error("gpus");
      }
      report.gpus.push_back(uuid.get<std::string>());
    }
  }
  if (json.contains("registered_ranks")) {
    if (!json["registered_ranks"].is_number_integer()) {
      return key_error("registered_ranks");
    }
    report.registered_ranks = json["registered_ranks"].get<int>();
  }
  return report;
}

}  // namespace joulescale
