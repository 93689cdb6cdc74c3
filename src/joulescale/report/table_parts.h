// SPDX-License-Identifier: Apache-2.0
// Words and cells that the tables of a study share. Private to report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "joulescale/analysis/study_analysis.h"
#include "joulescale/report/table.h"

namespace joulescale {

/// What devices are called: a kind's own word where all configurations have that kind.
struct DeviceWords {
  std::string one = "device";
  std::string many = "devices";
};

DeviceWords device_words(const StudyAnalysis& analysis);

template <typename T>
Cell optional_cell(const std::optional<T>& value) {
  return value ? Cell(*value) : Cell();
}

Cell count_cell(const std::optional<std::int64_t>& value);
Cell summary_cell(const Summary& summary);
Cell text_cell(const std::string& text);

/// "energy_kwh", on the other basis "energy_with_estimates_kwh", for the suffix "kwh".
std::string energy_key(const StudyAnalysis& analysis, std::string_view suffix);

/// The groups that a table lists: the series, or all configurations where there is no series.
std::vector<const Group*> listed_groups(const StudyAnalysis& analysis);

/// "Phases of NAME".
std::string title_of(std::string_view what, const StudyAnalysis& analysis);

}  // namespace joulescale
