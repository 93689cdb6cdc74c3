// SPDX-License-Identifier: Apache-2.0
#include "joulescale/config/toml_reader.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "joulescale/base/text.h"

namespace joulescale::config {
namespace {

constexpr std::size_t kMaxNameBytes = 200;
constexpr std::size_t kMaxShownBytes = 100;

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

/// "the text 'abc'", "the number 1.5"…: what the user wrote in place of what is allowed.
std::string describe(const toml::node& node) {
  if (const auto* text = node.as_string()) {
    return fmt::format("the text '{}'", printable(text->get()));
  }
  if (const auto* integer = node.as_integer()) {
    return std::to_string(integer->get());
  }
  if (const auto* number = node.as_floating_point()) {
    return format_double(number->get());
  }
  if (const auto* boolean = node.as_boolean()) {
    return boolean->get() ? "true" : "false";
  }
  if (node.is_array()) {
    return "a list";
  }
  return node.is_table() ? "a table" : "a date or time";
}

}  // namespace

void Problem::report(const toml::node* node,
                     int line,
                     std::string_view key,
                     std::string_view what) {
  if (found()) {
    return;
  }
  if (node != nullptr && line_of(*node) > 0) {
    line = line_of(*node);
  }
  text_ = key.empty() ? fmt::format("{}:{}: {}", file_name_, std::max(line, 1), what)
                      : fmt::format("{}:{}: {}: {}", file_name_, std::max(line, 1), key, what);
}

int line_of(const toml::node& node) { return static_cast<int>(node.source().begin.line); }

std::string printable(std::string_view text) {
  std::string line = to_valid_utf8(text.substr(0, kMaxShownBytes));
  std::replace_if(line.begin(), line.end(), is_control, ' ');
  if (text.size() > kMaxShownBytes) {
    line += "...";
  }
  return line;
}

TableReader::TableReader(const toml::table& table,
                         std::string path,
                         std::initializer_list<std::string_view> keys,
                         Problem& problem)
    : table_(table), path_(std::move(path)), problem_(problem) {
  for (const auto& [key, value] : table_) {
    if (std::find(keys.begin(), keys.end(), key.str()) != keys.end()) {
      continue;
    }
    const std::string name = path_of(printable(key.str()));
    const auto nearest = nearest_name(key.str(), {keys.begin(), keys.size()});
    const std::string what = nearest
                                 ? fmt::format("unknown key; did you mean '{}'?", *nearest)
                                 : fmt::format("unknown key; allowed: {}", fmt::join(keys, ", "));
    problem_.report(nullptr, static_cast<int>(key.source().begin.line), name, what);
  }
}

std::string TableReader::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

void TableReader::fail(std::string_view key, std::string_view what) const {
  problem_.report(find(key), line(), path_of(key), what);
}

std::optional<std::string> TableReader::text(std::string_view key) const {
  const toml::node* node = find(key);
  if (node == nullptr) {
    return std::nullopt;
  }
  if (const auto* value = node->as_string()) {
    if (value->get().find('\0') != std::string::npos) {
      fail(key, "holds a zero byte");
      return std::nullopt;
    }
    return value->get();
  }
  fail(key, fmt::format("{} is not a text; allowed: a text in quotes", describe(*node)));
  return std::nullopt;
}

std::optional<std::int64_t> TableReader::integer_of(const toml::node& node,
                                                    std::string_view key,
                                                    Bounds bounds) const {
  const auto* value = node.as_integer();
  if (value == nullptr || value->get() < bounds.low || value->get() > bounds.high) {
    problem_.report(&node,
                    line(),
                    path_of(key),
                    fmt::format("{} is not allowed; allowed: a whole number from {} to {}",
                                describe(node),
                                bounds.low,
                                bounds.high));
    return std::nullopt;
  }
  return value->get();
}

std::optional<std::int64_t> TableReader::integer(std::string_view key, Bounds bounds) const {
  const toml::node* node = find(key);
  return node == nullptr ? std::nullopt : integer_of(*node, key, bounds);
}

std::optional<double> TableReader::number(std::string_view key, double low, double high) const {
  const toml::node* node = find(key);
  if (node == nullptr) {
    return std::nullopt;
  }
  const auto value = node->is_number() ? node->value<double>() : std::nullopt;
  if (!value || !std::isfinite(*value) || *value < low || *value > high) {
    fail(key,
         fmt::format("{} is not allowed; allowed: a number from {} to {}",
                     describe(*node),
                     format_double(low),
                     format_double(high)));
    return std::nullopt;
  }
  return value;
}

std::vector<std::int64_t> TableReader::integers(std::string_view key, Bounds bounds) const {
  std::vector<std::int64_t> values;
  const toml::node* node = find(key);
  if (node == nullptr) {
    return values;
  }
  const auto add = [&](const toml::node& item) {
    const auto value = integer_of(item, key, bounds);
    if (value && std::find(values.begin(), values.end(), *value) != values.end()) {
      problem_.report(&item, line(), path_of(key), fmt::format("{} is there twice", *value));
    } else if (value) {
      values.push_back(*value);
    }
  };
  const toml::array* list = node->as_array();
  if (list == nullptr) {
    add(*node);
    return values;
  }
  if (list->empty()) {
    fail(key, "the list is empty; allowed: at least one whole number");
  }
  for (const toml::node& item : *list) {
    add(item);
  }
  return values;
}

std::vector<std::string> TableReader::texts(std::string_view key) const {
  std::vector<std::string> values;
  const toml::node* node = find(key);
  if (node == nullptr) {
    return values;
  }
  const toml::array* list = node->as_array();
  if (list == nullptr || list->empty()) {
    fail(key, "allowed: a list of at least one text");
    return values;
  }
  for (const toml::node& item : *list) {
    const auto* value = item.as_string();
    if (value == nullptr || value->get().find('\0') != std::string::npos) {
      problem_.report(&item,
                      line(),
                      path_of(key),
                      fmt::format("{} is not allowed; allowed: texts in quotes, without zero bytes",
                                  describe(item)));
      return values;
    }
    values.push_back(value->get());
  }
  return values;
}

const toml::table* TableReader::table(std::string_view key) const {
  const toml::node* node = find(key);
  if (node == nullptr) {
    return nullptr;
  }
  if (!node->is_table()) {
    fail(key, fmt::format("{} is not a table; write [{}]", describe(*node), path_of(key)));
  }
  return node->as_table();
}

std::string TableReader::required_name(std::string_view key) const {
  if (!has(key)) {
    fail(key, "missing; allowed: a text in quotes");
    return {};
  }
  const std::string name = text(key).value_or("");
  if (name.empty() || name.size() > kMaxNameBytes ||
      std::any_of(name.begin(), name.end(), is_control)) {
    fail(key,
         fmt::format("'{}' is not allowed; allowed: 1 to {} bytes without control characters",
                     printable(name),
                     kMaxNameBytes));
  }
  return name;
}

}  // namespace joulescale::config
