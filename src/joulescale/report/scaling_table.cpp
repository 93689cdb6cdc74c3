// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "joulescale/analysis/scaling.h"
#include "joulescale/report/study_tables.h"
#include "joulescale/report/table_parts.h"

namespace joulescale {

Table scaling_table(const StudyReport& report) {
  const StudyAnalysis& analysis = report.analysis;
  const DeviceWords words = device_words(analysis);
  Table table;
  table.name = "scaling";
  table.title = fmt::format("Scaling within each series: speed-up and energy{} per sample",
                            energy_label(analysis));
  table.columns = {{"series", "series", "", ColumnKind::kText},
                   {"devices", words.many, "", ColumnKind::kNumber},
                   {"local_batch_size", "LBS", "", ColumnKind::kNumber},
                   {"global_batch_size", "GBS", "", ColumnKind::kNumber},
                   {"speedup", "speed-up", "", ColumnKind::kNumber},
                   {"efficiency", "parallel efficiency", "", ColumnKind::kNumber},
                   {energy_key(analysis, "per_sample_ratio"),
                    fmt::format("energy{} per sample against reference", energy_label(analysis)),
                    "",
                    ColumnKind::kNumber}};
  const auto ratio_cell = [](const std::optional<double>& value) {
    return value ? Cell(Number{*value}) : Cell();
  };
  for (const Group* group : listed_groups(analysis)) {
    for (const ScalingPoint& point : scaling_of(analysis, *group)) {
      const ConfigurationKey& key = analysis.configurations[point.configuration].key;
      table.rows.push_back({group->name,
                            std::int64_t{key.num_devices},
                            count_cell(key.local_batch_size),
                            count_cell(key.global_batch_size),
                            ratio_cell(point.speedup),
                            ratio_cell(point.efficiency),
                            ratio_cell(point.energy_ratio)});
    }
  }
  table.notes = {
      "speed-up: ratio of samples per second to the configuration with the fewest devices of the "
      "series; parallel efficiency: speed-up by the ratio of devices"};
  return table;
}

}  // namespace joulescale
