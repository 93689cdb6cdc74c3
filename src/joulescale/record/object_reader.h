// SPDX-License-Identifier: Apache-2.0
// Reads the members of a JSON object into typed fields. Only for this room's .cpp files.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "joulescale/base/text.h"
#include "joulescale/record/run_record.h"

namespace joulescale::internal {

using Json = nlohmann::ordered_json;

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
  void get(const char* key, bool& out) { get_if(key, &Json::is_boolean, "true or false", out); }
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
    if (value < 0.0) {
      fail(key, "0 or more");
    }
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
  /// Where a user wrote the object: another key is a misspelt one.
  void allow_only(std::initializer_list<std::string_view> keys) {
    if (!json_.is_object()) {
      return;
    }
    for (const auto& [name, value] : json_.items()) {
      if (std::ranges::find(keys, name) == keys.end() && problem_.empty()) {
        problem_ = fmt::format(
            "'{}' is no key; allowed are {}", path_of(to_valid_utf8(name)), fmt::join(keys, ", "));
      }
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

}  // namespace joulescale::internal
