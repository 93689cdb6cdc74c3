// SPDX-License-Identifier: Apache-2.0
#include "tests/support/synthetic_study.h"

#include <utility>

namespace joulescale::testing {

RunRecord synthetic_run(const SyntheticRun& parameters) {
  constexpr std::int64_t kSamples = 20'000;
  const std::int64_t gbs = parameters.local_batch_size * parameters.devices;
  RunRecord run;
  run.id = "synthetic-" + parameters.series + "-" + std::to_string(parameters.devices) + "x" +
           std::to_string(parameters.local_batch_size) + "-" +
           std::to_string(parameters.repetition);
  run.command = {"joulescale-train", "--model", "resnet8"};
  run.started_at = "2026-12-01T08:1" + std::to_string(parameters.repetition) + ":00.000Z";
  run.duration = Seconds(parameters.duration_s);
  run.exit_status = 0;
  run.launch = {"synthetic", "local", {}};
  run.version = "0.1.0";
  run.devices = {"cpu_rank", parameters.devices};
  run.device_hours = parameters.devices * parameters.duration_s / 3600.0;
  run.hardware.cpu_model = "Synthetic CPU";
  run.hardware.sockets = 1;
  run.hardware.cores = 2;
  run.hardware.memory_bytes = std::uint64_t{16} << 30;
  for (int rank = 0; rank < parameters.devices; ++rank) {
    run.ranks.push_back({rank, "node-a", 0, std::nullopt, run.duration, {}});
  }
  run.nodes = {{"node-a", Joules(parameters.energy_j), std::nullopt, {}}};

  const Joules energy(parameters.energy_j);
  run.energy.total = energy;
  run.energy.total_uncertainty = Joules(0.5);
  run.energy.total_includes = {"cpu", "dram"};
  run.energy.instrument_accuracy = "RAPL: 3 % (synthetic figure)";
  run.energy.components["cpu"] = {
      0.9 * energy, Joules(0.4), Provenance::kMeasured, {}, {}, "3 % (synthetic figure)", {}};
  run.energy.components["dram"] = {
      0.1 * energy, Joules(0.1), Provenance::kMeasured, {}, {}, "unknown", {}};
  run.sources = {{"powercap/package-0",
                  "cpu",
                  0.9 * energy,
                  Provenance::kMeasured,
                  Seconds(0.001),
                  600,
                  2,
                  1,
                  0,
                  {}},
                 {"powercap/package-0/dram",
                  "dram",
                  0.1 * energy,
                  Provenance::kMeasured,
                  Seconds(0.001),
                  600,
                  0,
                  0,
                  0,
                  {}}};

  TrainingRecord training;
  training.model = "resnet8";
  training.dataset = "fashion-mnist";
  training.epochs = 1;
  training.samples = kSamples;
  training.updates = kSamples / gbs;
  training.local_batch_size = parameters.local_batch_size;
  training.global_batch_size = gbs;
  training.accumulation_steps = 1;
  training.seed = 100 + parameters.repetition;
  training.top1_error = parameters.top1_error;
  training.top5_error = parameters.top1_error / 10.0;
  training.loss = 0.5;
  const double work_s = parameters.devices * parameters.duration_s;
  const auto phase = [&](double share) {
    return PhaseRecord{Seconds(share * work_s), share * energy, std::nullopt, std::nullopt};
  };
  training.phases = {{"data", phase(0.05)},
                     {"forward", phase(0.30)},
                     {"backward", phase(0.45)},
                     {"optimizer", phase(0.10)},
                     {"evaluation", phase(0.10)}};
  run.training = std::move(training);
  run.study = StudyRecord{"synthetic study",
                          parameters.series,
                          parameters.more_series,
                          parameters.repetition,
                          {{"devices", std::int64_t{parameters.devices}},
                           {"local_batch_size", parameters.local_batch_size}}};
  return run;
}

RunRecord with_estimated_energy(RunRecord run) {
  run.energy.estimated = run.energy.total;
  run.energy.total_with_estimates = run.energy.total;
  run.energy.total.reset();
  run.energy.total_uncertainty.reset();
  run.energy.total_includes.clear();
  run.energy.instrument_accuracy = "unknown";
  for (auto& [name, component] : run.energy.components) {
    component.provenance = Provenance::kEstimated;
    component.uncertainty.reset();
    component.instrument_accuracy = "unknown";
    component.inputs = {{"tdp_w", "65"}, {"cores", "2"}};
  }
  for (NodeRecord& node : run.nodes) {
    node.estimated = std::exchange(node.energy, std::nullopt);
  }
  for (SourceRecord& source : run.sources) {
    source.provenance = Provenance::kEstimated;
    source.name = "estimate/" + source.domain;
  }
  for (auto& [name, phase] : run.training->phases) {
    phase.estimated = std::exchange(phase.energy, std::nullopt);
  }
  run.flags.emplace_back("no_sensor");
  return run;
}

std::vector<RunRecord> synthetic_study() {
  std::vector<RunRecord> runs;
  for (const int repetition : {0, 1}) {
    const double slower = 1.0 + 0.02 * repetition;
    const double worse = 0.4 * repetition;
    runs.push_back(synthetic_run({"constant_lbs",
                                  {"constant_gbs"},
                                  1,
                                  64,
                                  repetition,
                                  60.0 * slower,
                                  1500.0 * slower,
                                  18.0 + worse}));
    runs.push_back(synthetic_run(
        {"constant_lbs", {}, 2, 64, repetition, 33.0 * slower, 1620.0 * slower, 20.3 + worse}));
    runs.push_back(synthetic_run(
        {"constant_gbs", {}, 2, 32, repetition, 36.0 * slower, 1790.0 * slower, 18.2 + worse}));
    runs.push_back(synthetic_run(
        {"large_batch", {}, 2, 256, repetition, 31.0 * slower, 1545.0 * slower, 29.6 + 6 * worse}));
  }
  return runs;
}

}  // namespace joulescale::testing
