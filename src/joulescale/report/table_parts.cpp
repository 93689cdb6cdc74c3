// SPDX-License-Identifier: Apache-2.0
#include "joulescale/report/table_parts.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "joulescale/report/study_tables.h"

namespace joulescale {

DeviceWords device_words(const StudyAnalysis& analysis) {
  std::set<std::string> kinds;
  for (const MeasuredConfiguration& configuration : analysis.configurations) {
    kinds.insert(configuration.key.device_kind);
  }
  if (kinds == std::set<std::string>{"gpu"}) {
    return {"GPU", "GPUs"};
  }
  if (kinds == std::set<std::string>{"cpu_rank"}) {
    return {"CPU-rank", "CPU ranks"};
  }
  return {};
}

Cell count_cell(const std::optional<std::int64_t>& value) { return optional_cell(value); }

Cell summary_cell(const Summary& summary) { return summary.mean ? Cell(summary) : Cell(); }

Cell text_cell(const std::string& text) { return text.empty() ? Cell() : Cell(text); }

std::string energy_key(const StudyAnalysis& analysis, std::string_view suffix) {
  return fmt::format("energy{}_{}",
                     analysis.energy_basis == EnergyBasis::kMeasured ? "" : "_with_estimates",
                     suffix);
}

std::vector<const Group*> listed_groups(const StudyAnalysis& analysis) {
  std::vector<const Group*> groups;
  for (const Group& group : analysis.groups) {
    const bool has_series = analysis.groups.size() > 1;
    if (!has_series || group.name != kAllGroup) {
      groups.push_back(&group);
    }
  }
  // Configurations of runs outside every series stand in no other group.
  const auto& configurations = analysis.configurations;
  const bool some_outside =
      std::any_of(configurations.begin(), configurations.end(), [](const MeasuredConfiguration& c) {
        return c.series.empty();
      });
  if (groups.size() < analysis.groups.size() && some_outside) {
    return {&analysis.groups.back()};
  }
  return groups;
}

std::string title_of(std::string_view what, const StudyAnalysis& analysis) {
  return analysis.name.empty() ? std::string(what) : fmt::format("{} of {}", what, analysis.name);
}

std::string device_hours_title(const StudyAnalysis& analysis) {
  return device_words(analysis).one + " hours";
}

}  // namespace joulescale
