// SPDX-License-Identifier: Apache-2.0
// CSV of run summaries: any bytes are refused with a place, or parse to rows that analyse.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "joulescale/analysis/run_summaries.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto rows =
      joulescale::parse_run_summaries({reinterpret_cast<const char*>(data), size}, "f");
  if (!rows) {
    if (!rows.error().text().starts_with("f:") ||
        rows.error().text().find('\n') != std::string::npos) {
      std::abort();
    }
    return 0;
  }
  const auto analysis = joulescale::analyze_run_summaries(*rows, {});
  if (rows->empty() || analysis.configurations.size() > rows->size()) {
    std::abort();
  }
  return 0;
}
