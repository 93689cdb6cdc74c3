// SPDX-License-Identifier: Apache-2.0
// The report of a study as one HTML page that holds everything it needs: style, script, data and
// Plotly's bundle. It asks the network for nothing, and its content policy forbids it to.
#pragma once

#include <string>

#include "joulescale/base/error.h"
#include "joulescale/report/study_tables.h"

namespace joulescale {

/// The page, about 5 MB. All text from records is escaped; the analysis (joulescale.analysis/1)
/// stands in the element "joulescale-analysis". Error (kUnsupported) in a build without Plotly's
/// bundle.
Result<std::string> format_html_page(const StudyReport& report, std::string_view program_version);

}  // namespace joulescale
