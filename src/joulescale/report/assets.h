// SPDX-License-Identifier: Apache-2.0
// Files that are built into the program: the page's style and script, and Plotly's bundle.
#pragma once

#include <string_view>

namespace joulescale {

std::string_view report_css();
std::string_view report_js();

/// Plotly's JavaScript bundle (MIT licence); empty in a build without it.
std::string_view plotly_js();
std::string_view plotly_license();

}  // namespace joulescale
