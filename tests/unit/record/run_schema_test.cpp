// SPDX-License-Identifier: Apache-2.0
// docs/run.schema.json and the writer of run.json agree.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "joulescale/record/run_json.h"

#include "tests/support/json_schema.h"

namespace joulescale {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

nlohmann::json read_schema() {
  std::ifstream file(JOULESCALE_SOURCE_DIR "/docs/run.schema.json");
  return nlohmann::json::parse(file);
}

ComponentEnergy full_component() {
  ComponentEnergy component;
  component.energy = Joules(10.0);
  component.uncertainty = Joules(1.0);
  component.provenance = Provenance::kIntegrated;
  component.integrated = Joules(9.0);
  component.overlaps = {"cpu"};
  component.instrument_accuracy = "unknown";
  component.inputs = {{"power_w", "10"}};
  return component;
}

/// Every field set, so that the writer emits every key it knows.
RunRecord full_record() {
  RunRecord run;
  run.id = "1";
  run.command = {"a", "b"};
  run.started_at = "2026-01-01T00:00:00.000Z";
  run.duration = Seconds(1.0);
  run.exit_status = 0;
  run.signal = 9;
  run.ranks = {{0, "n", 0, 9, Seconds(1.0), "2026-01-01T00:00:00.000001Z"}};
  run.launch = {"key", "none", 1};
  run.version = "1";
  run.nodes = {{"h", Joules(1.0), Joules(2.0), {{"cpu", full_component()}}}};
  run.devices = {"gpu", 2};
  run.device_hours = 0.1;
  run.hardware = {"G", 8, "C", 2, 64, 1ULL << 40, "580"};
  run.energy.total = Joules(1.0);
  run.energy.total_uncertainty = Joules(1.0);
  run.energy.total_includes = {"cpu"};
  run.energy.estimated = Joules(1.0);
  run.energy.total_with_estimates = Joules(2.0);
  run.energy.components = {{"gpu", full_component()}};
  run.energy.instrument_accuracy = "unknown";
  run.baseline = BaselineRecord{Seconds(10.0),
                                {{"cpu", {Watts(1.0), Watts(0.1), Provenance::kMeasured}}},
                                Watts(1.0),
                                Watts(0.1),
                                Joules(1.0),
                                Joules(0.1),
                                Joules(-1.0),
                                Joules(0.1),
                                Watts(2.0),
                                Joules(2.0),
                                0.5,
                                {"not idle"}};
  run.power = {Watts(1.0), Watts(2.0), Watts(0.1), Seconds(0.2)};
  run.sources = {
      {"s", "cpu", Joules(1.0), Provenance::kMeasured, Seconds(0.1), 1, 2, 3, 4, Seconds(0.5)}};
  run.source_notes = {{"nvml", "n", "no driver"}};
  run.metrics = {{"m", "n", "percent", 3, 1.0, 0.5, 2.0, 4.0, 0.1, {{"sw_power_cap", 0.5}}}};
  run.regions = {{"r", 1, Seconds(1.0), Joules(1.0), Joules(1.0), Joules(1.0)}};
  run.overhead = {Seconds(0.1), 1000};
  run.flags = {"gap"};
  TrainingRecord training{"m", "s", "d", 1, 2, 3, 4, 5, 6, 7, 8.0, 9.0, 10.0, {}, {}};
  training.metrics = {{"x", 1.0}};
  training.phases = {{"forward", {Seconds(1.0), Joules(1.0), Joules(1.0), Joules(1.0)}}};
  run.training = training;
  run.study = StudyRecord{
      "n", "s", {"t"}, 1, {{"gbs", std::int64_t{64}}, {"lr", 0.1}, {"name", std::string("x")}}};
  run.scheduler = SchedulerRecord{"7", "gpu", Joules(5.0)};
  return run;
}

TEST(RunSchema, HoldsEveryKeyOfTheWriter) {
  const testing::JsonSchema schema(read_schema());
  const auto document = nlohmann::json::parse(format_run_record(full_record()));
  EXPECT_THAT(schema.violations(document), IsEmpty());
}

TEST(RunSchema, RefusesWhatTheRecordIsNot) {
  const testing::JsonSchema schema(read_schema());
  auto document = nlohmann::json::parse(format_run_record(full_record()));
  document["surprise"] = 1;
  document["flags"].push_back("no_such_flag");
  document["energy"]["total_j"] = "12 J";
  document["duration_s"] = -1.0;
  document["sources"][0].erase("wraps");
  EXPECT_THAT(schema.violations(document), SizeIs(5));
}

/// Keys in the schema that no writer emits would be promises nobody keeps.
TEST(RunSchema, PromisesNothingElse) {
  const auto document = nlohmann::json::parse(format_run_record(full_record()));
  const nlohmann::json schema = read_schema();
  for (const auto& [key, value] : schema["properties"].items()) {
    EXPECT_TRUE(document.contains(key)) << key;
  }
  for (const auto& [key, value] : schema["$defs"]["component"]["properties"].items()) {
    EXPECT_TRUE(document["energy"]["components"]["gpu"].contains(key)) << key;
  }
  for (const auto& [key, value] : schema["$defs"]["baseline"]["properties"].items()) {
    EXPECT_TRUE(document["baseline"].contains(key)) << key;
  }
  for (const auto& [key, value] : schema["$defs"]["training"]["properties"].items()) {
    EXPECT_TRUE(document["training"].contains(key)) << key;
  }
}

}  // namespace
}  // namespace joulescale
