// SPDX-License-Identifier: Apache-2.0
#include "joulescale/report/escape.h"

#include <array>
#include <span>
#include <utility>

namespace joulescale {
namespace {

using Replacement = std::pair<std::string_view, std::string_view>;

/// Each place of `text` that begins with a replacement's first is replaced by its second.
std::string replace_each(std::string_view text, std::span<const Replacement> replacements) {
  std::string escaped;
  escaped.reserve(text.size() + text.size() / 8);
  while (!text.empty()) {
    bool replaced = false;
    for (const auto& [from, to] : replacements) {
      if (text.starts_with(from)) {
        escaped += to;
        text.remove_prefix(from.size());
        replaced = true;
        break;
      }
    }
    if (!replaced) {
      escaped += text.front();
      text.remove_prefix(1);
    }
  }
  return escaped;
}

constexpr std::array<Replacement, 5> kHtml = {{
    {"&", "&amp;"},
    {"<", "&lt;"},
    {">", "&gt;"},
    {"\"", "&quot;"},
    {"'", "&#39;"},
}};

constexpr std::array<Replacement, 14> kMarkdown = {{
    {"\\", "\\\\"},
    {"|", "\\|"},
    {"*", "\\*"},
    {"_", "\\_"},
    {"`", "\\`"},
    {"[", "\\["},
    {"]", "\\]"},
    {"#", "\\#"},
    {"~", "\\~"},
    {"$", "\\$"},
    {"<", "&lt;"},
    {">", "&gt;"},
    {"&", "&amp;"},
    {"^", "\\^"},
}};

constexpr std::array<Replacement, 20> kLatex = {{
    {"\\", "\\textbackslash{}"},
    {"{", "\\{"},
    {"}", "\\}"},
    {"$", "\\$"},
    {"&", "\\&"},
    {"#", "\\#"},
    {"%", "\\%"},
    {"_", "\\_"},
    {"^", "\\textasciicircum{}"},
    {"~", "\\textasciitilde{}"},
    {"<", "\\textless{}"},
    {">", "\\textgreater{}"},
    {"|", "\\textbar{}"},
    {"[", "{[}"},  // not an option of the line end before it
    {"'", "\\textquotesingle{}"},
    {"`", "\\textasciigrave{}"},
    {"\xC2\xB1", "$\\pm$"},
    {"\xC2\xB2", "$^2$"},
    {"\xC2\xB7", "$\\cdot$"},
    {"--", "-{}-"},
}};

constexpr std::array<Replacement, 5> kJsonInHtml = {{
    {"<", "\\u003c"},
    {">", "\\u003e"},
    {"&", "\\u0026"},
    {"\xE2\x80\xA8", "\\u2028"},
    {"\xE2\x80\xA9", "\\u2029"},
}};

}  // namespace

std::string escape_html(std::string_view text) { return replace_each(text, kHtml); }

std::string escape_markdown(std::string_view text) { return replace_each(text, kMarkdown); }

std::string escape_latex(std::string_view text) { return replace_each(text, kLatex); }

std::string escape_json_for_html(std::string_view json) { return replace_each(json, kJsonInHtml); }

}  // namespace joulescale
