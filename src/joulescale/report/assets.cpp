// SPDX-License-Identifier: Apache-2.0
#include "joulescale/report/assets.h"

#include <cstddef>

// Defined in assets.S: the first byte of each asset and the byte behind its last.
// NOLINTBEGIN(readability-identifier-naming): the assembler's names
extern "C" {
extern const char joulescale_asset_report_css[];
extern const char joulescale_asset_report_css_end[];
extern const char joulescale_asset_report_js[];
extern const char joulescale_asset_report_js_end[];
extern const char joulescale_asset_plotly_js[];
extern const char joulescale_asset_plotly_js_end[];
extern const char joulescale_asset_plotly_license[];
extern const char joulescale_asset_plotly_license_end[];
}
// NOLINTEND(readability-identifier-naming)

namespace joulescale {
namespace {

std::string_view between(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

}  // namespace

std::string_view report_css() {
  return between(joulescale_asset_report_css, joulescale_asset_report_css_end);
}

std::string_view report_js() {
  return between(joulescale_asset_report_js, joulescale_asset_report_js_end);
}

std::string_view plotly_js() {
  return between(joulescale_asset_plotly_js, joulescale_asset_plotly_js_end);
}

std::string_view plotly_license() {
  return between(joulescale_asset_plotly_license, joulescale_asset_plotly_license_end);
}

}  // namespace joulescale
