// SPDX-License-Identifier: Apache-2.0
#include "joulescale/report/escape.h"

#include <string>

#include <gtest/gtest.h>

#include "joulescale/base/text.h"

namespace joulescale {
namespace {

constexpr const char* kHtmlName = R"(</script><img src=x onerror=alert(1)>"'&)";
constexpr const char* kTexName = R"(a_b & 50% | #1 ~^\{}$)";

TEST(Escape, Html) {
  EXPECT_EQ(escape_html(kHtmlName),
            "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;&quot;&#39;&amp;");
}

TEST(Escape, Latex) {
  EXPECT_EQ(escape_latex(kTexName),
            R"(a\_b \& 50\% \textbar{} \#1 \textasciitilde{}\textasciicircum{})"
            R"(\textbackslash{}\{\}\$)");
  EXPECT_EQ(escape_latex("1 \xC2\xB1 2"), "1 $\\pm$ 2");
  EXPECT_EQ(escape_latex("[0.1, 0.2] --x"), "{[}0.1, 0.2] -{}-x");
}

TEST(Escape, Markdown) {
  EXPECT_EQ(escape_markdown(kTexName), R"(a\_b &amp; 50% \| \#1 \~\^\\{}\$)");
  EXPECT_EQ(escape_markdown("<b>[x](y)`*"), R"(&lt;b&gt;\[x\](y)\`\*)");
}

TEST(Escape, Csv) {
  EXPECT_EQ(escape_csv("plain"), "plain");
  EXPECT_EQ(escape_csv("a,\"b\"\n"), "\"a,\"\"b\"\"\n\"");
}

TEST(Escape, JsonInAScriptElement) {
  EXPECT_EQ(escape_json_for_html(R"({"a":"</script>&<!--"})"),
            R"({"a":"\u003c/script\u003e\u0026\u003c!--"})");
  EXPECT_EQ(escape_json_for_html("\xE2\x80\xA8"), "\\u2028");
}

}  // namespace
}  // namespace joulescale
