// SPDX-License-Identifier: Apache-2.0
// Run directories with made-up figures, for tests of what reads them.
#pragma once

#include <filesystem>
#include <string>

#include "joulescale/base/file.h"
#include "joulescale/record/run_json.h"
#include "joulescale/record/run_record.h"

namespace joulescale::testing {

inline RunRecord example_run(const std::string& id, int devices, std::int64_t local_batch_size) {
  RunRecord run;
  run.id = id;
  run.started_at = "2026-12-01T08:15:30.123Z";
  run.duration = Seconds(12.5);
  run.exit_status = 0;
  run.launch = {"local:1", "none", {}};
  run.devices = {"cpu_rank", devices};
  run.device_hours = devices * 12.5 / 3600;
  run.energy.total = Joules(100);
  run.energy.components["cpu"].energy = Joules(100);
  run.study = StudyRecord{"demo",
                          "first",
                          {},
                          0,
                          {{"devices", std::int64_t{devices}},
                           {"local_batch_size", local_batch_size},
                           {"global_batch_size", local_batch_size * devices},
                           {"accumulation_steps", std::int64_t{1}}}};
  return run;
}

inline void write_run(const std::filesystem::path& directory, const RunRecord& run) {
  std::filesystem::create_directories(directory);
  (void)write_file_atomic(directory / "run.json", format_run_record(run));
}

}  // namespace joulescale::testing
