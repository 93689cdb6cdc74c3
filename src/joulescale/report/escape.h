// SPDX-License-Identifier: Apache-2.0
// Escaping, one function a place where text can stand. Applied to finished text, after numbers were
// formatted, so that a '%' or '_' that a format put in is escaped too.
#pragma once

#include <string>
#include <string_view>

namespace joulescale {

/// Text of an HTML element or of a double-quoted attribute.
std::string escape_html(std::string_view text);

/// A cell or paragraph of a Markdown document: no column, emphasis, link, code or HTML starts in
/// it.
std::string escape_markdown(std::string_view text);

/// A cell or caption of a LaTeX document, also for the signs that joulescale prints (± ² ·).
std::string escape_latex(std::string_view text);

/// JSON text made safe inside an HTML script element: '<', '>', '&', U+2028 and U+2029 as \uXXXX.
std::string escape_json_for_html(std::string_view json);

}  // namespace joulescale
