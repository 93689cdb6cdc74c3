// SPDX-License-Identifier: Apache-2.0
// Study files: any bytes make a study or one line of error; a study has runs with distinct names.
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>

#include "joulescale/config/study_file.h"
#include "joulescale/sweep/plan.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto spec = joulescale::parse_study({reinterpret_cast<const char*>(data), size}, "f.toml");
  if (!spec) {
    const std::string& text = spec.error().text();
    if (!text.starts_with("f.toml:") || text.find('\n') != std::string::npos) {
      std::abort();
    }
    return 0;
  }
  if (joulescale::format_study_spec(*spec).empty()) {
    std::abort();
  }
  std::set<std::string> names;
  for (const joulescale::PlannedRun& run : joulescale::make_plan(*spec).runs) {
    if (!names.insert(run.name).second || run.configuration.global_batch_size() < 1) {
      std::abort();
    }
  }
  return joulescale::incompatible_change(*spec, *spec).empty() ? 0 : (std::abort(), 0);
}
