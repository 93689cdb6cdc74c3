// SPDX-License-Identifier: Apache-2.0
#include "joulescale/record/run_record.h"

#include "joulescale/base/text.h"

namespace joulescale {

std::string_view provenance_name(Provenance provenance) {
  switch (provenance) {
    case Provenance::kMeasured:
      return "measured";
    case Provenance::kIntegrated:
      return "integrated";
    case Provenance::kEstimated:
      return "estimated";
  }
  return "unknown";
}

std::optional<Provenance> provenance_from_name(std::string_view name) {
  for (const Provenance provenance :
       {Provenance::kMeasured, Provenance::kIntegrated, Provenance::kEstimated}) {
    if (provenance_name(provenance) == name) {
      return provenance;
    }
  }
  return std::nullopt;
}

std::optional<Nanoseconds> parse_baseline_length(std::string_view text) {
  const auto length = parse_duration(text);
  const bool allowed =
      length && *length >= std::chrono::seconds(1) && *length <= std::chrono::hours(1);
  return allowed ? length : std::nullopt;
}

bool succeeded(const RunRecord& run) { return run.exit_status == 0 && !run.signal; }

}  // namespace joulescale
