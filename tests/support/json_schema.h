// SPDX-License-Identifier: Apache-2.0
// The part of JSON Schema (draft 2020-12) that docs/*.schema.json use: type, properties, required,
// additionalProperties, items, enum, const, minimum, $ref into $defs.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace joulescale::testing {

class JsonSchema {
 public:
  explicit JsonSchema(nlohmann::json schema) : root_(std::move(schema)) {}

  /// One line for each violation; empty for a valid document.
  std::vector<std::string> violations(const nlohmann::json& document) const {
    std::vector<std::string> found;
    check(root_, document, "", found);
    return found;
  }

 private:
  using Json = nlohmann::json;

  static bool is_type(const Json& value, const std::string& type) {
    return (type == "object" && value.is_object()) || (type == "array" && value.is_array()) ||
           (type == "string" && value.is_string()) || (type == "number" && value.is_number()) ||
           (type == "integer" && value.is_number_integer()) ||
           (type == "boolean" && value.is_boolean());
  }

  static bool is_any_type(const Json& value, const Json& types) {
    if (types.is_string()) {
      return is_type(value, types);
    }
    for (const Json& type : types) {
      if (is_type(value, type)) {
        return true;
      }
    }
    return false;
  }

  void check(const Json& schema,
             const Json& value,
             const std::string& path,
             std::vector<std::string>& found) const {
    if (schema.contains("$ref")) {
      const std::string pointer = schema["$ref"].get<std::string>().substr(1);
      check(root_.at(Json::json_pointer(pointer)), value, path, found);
      return;
    }
    if (schema.contains("type") && !is_any_type(value, schema["type"])) {
      found.push_back(path + " is not of type " + schema["type"].dump());
      return;
    }
    if (schema.contains("const") && value != schema["const"]) {
      found.push_back(path + " is not " + schema["const"].dump());
    }
    if (schema.contains("enum") &&
        std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end()) {
      found.push_back(path + ": " + value.dump() + " is not one of " + schema["enum"].dump());
    }
    if (schema.contains("minimum") && value.is_number() &&
        value.get<double>() < schema["minimum"].get<double>()) {
      found.push_back(path + " is too small");
    }
    if (value.is_object()) {
      check_members(schema, value, path, found);
    }
    if (value.is_array() && schema.contains("items")) {
      for (std::size_t i = 0; i < value.size(); ++i) {
        check(schema["items"], value[i], path + "/" + std::to_string(i), found);
      }
    }
  }

  void check_members(const Json& schema,
                     const Json& value,
                     const std::string& path,
                     std::vector<std::string>& found) const {
    for (const Json& key : schema.value("required", Json::array())) {
      if (!value.contains(key.get<std::string>())) {
        found.push_back(path + " lacks " + key.dump());
      }
    }
    const Json properties = schema.value("properties", Json::object());
    for (const auto& [key, member] : value.items()) {
      const std::string member_path = path + "/" + key;
      if (properties.contains(key)) {
        check(properties[key], member, member_path, found);
      } else if (schema.contains("additionalProperties")) {
        const Json& others = schema["additionalProperties"];
        if (others.is_object()) {
          check(others, member, member_path, found);
        } else if (others == false) {
          found.push_back(member_path + " is not in the schema");
        }
      }
    }
  }

  Json root_;
};

}  // namespace joulescale::testing
