// SPDX-License-Identifier: Apache-2.0
// Typed access to one TOML table: every value is checked, the first wrong one is remembered with
// its line. Private to this room: toml++ stays out of the headers that others see.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <toml++/toml.h>

namespace joulescale::config {

/// The first problem found, as "file:line: key: what is wrong; what is allowed".
class Problem {
 public:
  explicit Problem(std::string_view file_name) : file_name_(file_name) {}
  void report(const toml::node* node, int line, std::string_view key, std::string_view what);
  bool found() const { return !text_.empty(); }
  const std::string& text() const { return text_; }

 private:
  std::string file_name_;
  std::string text_;
};

struct Bounds {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

int line_of(const toml::node& node);

/// `text` on one line, control characters and bytes that are not UTF-8 replaced, cut at 100 bytes.
std::string printable(std::string_view text);

class TableReader {
 public:
  /// `path`: the table's own key, "" for the whole file. Keys other than `keys` are reported.
  TableReader(const toml::table& table,
              std::string path,
              std::initializer_list<std::string_view> keys,
              Problem& problem);

  bool has(std::string_view key) const { return table_.contains(key); }
  const toml::node* find(std::string_view key) const { return table_.get(key); }
  int line() const { return line_of(table_); }
  /// Reports at the key's line, or at the table's if there is no such key.
  void fail(std::string_view key, std::string_view what) const;

  /// Each reads an optional key: absent leaves nothing, wrong is reported and leaves nothing.
  std::optional<std::string> text(std::string_view key) const;
  std::optional<std::int64_t> integer(std::string_view key, Bounds bounds) const;
  std::optional<double> number(std::string_view key, double low, double high) const;
  /// An integer, or a list of at least one, without repeats.
  std::vector<std::int64_t> integers(std::string_view key, Bounds bounds) const;
  std::vector<std::string> texts(std::string_view key) const;
  const toml::table* table(std::string_view key) const;

  /// A text that must be there, not empty, at most 200 bytes, without control characters.
  std::string required_name(std::string_view key) const;

 private:
  std::optional<std::int64_t> integer_of(const toml::node& node,
                                         std::string_view key,
                                         Bounds bounds) const;
  std::string path_of(std::string_view key) const;

  const toml::table& table_;
  std::string path_;
  Problem& problem_;
};

}  // namespace joulescale::config
