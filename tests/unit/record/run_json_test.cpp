// SPDX-License-Identifier: Apache-2.0
#include "joulescale/record/run_json.h"

#include <limits>

#include <gtest/gtest.h>

namespace joulescale {
namespace {

RunRecord example_run() {
  RunRecord run;
  run.id = "quickstart-1";
  run.command = {"joulescale-train", "--model", "resnet8"};
  run.started_at = "2026-12-01T08:15:30.123Z";
  run.duration = Seconds(12.5);
  run.exit_status = 0;
  run.ranks = {{0, "node-a", 0, std::nullopt, Seconds(12.5), "2026-01-01T00:00:12.500000Z"}};
  run.launch = {"local:1", "none", 2};
  run.version = "0.1.0";
  run.nodes = {{"node-a", Joules(100), std::nullopt, {}}};
  run.devices = {"cpu_rank", 2};
  run.device_hours = 2 * 12.5 / 3600;
  run.energy.total = Joules(100);
  run.energy.total_uncertainty = Joules(0.5);
  run.energy.total_includes = {"cpu"};
  run.energy.components["cpu"] = {Joules(100),
                                  Joules(0.5),
                                  Provenance::kMeasured,
                                  Joules(101),
                                  {"node"},
                                  "unknown",
                                  {{"tdp_w", "65"}}};
  run.baseline.emplace();
  run.baseline->duration = Seconds(10);
  run.baseline->components["cpu"] = {Watts(9), Watts(0.25), Provenance::kIntegrated};
  run.baseline->power = Watts(9);
  run.baseline->energy = Joules(112.5);
  run.baseline->above = Joules(-12.5);
  run.baseline->notes = {"the node was not idle"};
  run.sources = {{"powercap/package-0",
                  "cpu",
                  Joules(100),
                  Provenance::kMeasured,
                  Seconds(0.001),
                  125,
                  0,
                  1,
                  0,
                  {}}};
  run.regions = {{"forward", 3, Seconds(4), Joules(30), std::nullopt, Joules(0.1)}};
  run.metrics = {{"nvml/GPU-1/temperature", "node-a", "degC", 12, 61.5, 40.0, 71.0, {}, {}, {}},
                 {"load/node/cpu_time", "node-a", "s", 13, {}, {}, {}, 25.0, 2.0, {}},
                 {"nvml/GPU-1/throttle_reasons",
                  "node-a",
                  "bits",
                  12,
                  {},
                  {},
                  {},
                  {},
                  {},
                  {{"sw_power_cap", 0.25}}}};
  run.flags = {"gap"};
  run.training.emplace();
  run.training->model = "resnet8";
  run.training->samples = 20000;
  run.training->top1_error = 19.25;
  run.training->phases["forward"] = {Seconds(4), std::nullopt, Joules(30), Joules(0.1)};
  run.study = StudyRecord{"quickstart",
                          "constant-lbs",
                          {"large"},
                          1,
                          {{"devices", std::int64_t{2}}, {"rate", 0.1}, {"mode", "a"}}};
  return run;
}

TEST(RunJson, RoundTripIsExact) {
  const std::string text = format_run_record(example_run());
  const auto parsed = parse_run_record(text);
  ASSERT_TRUE(parsed) << parsed.error().text();
  EXPECT_EQ(format_run_record(*parsed), text);
  EXPECT_EQ(parsed->energy.components.at("cpu").uncertainty, Joules(0.5));
  EXPECT_EQ(parsed->baseline->components.at("cpu").uncertainty, Watts(0.25));
  EXPECT_EQ(parsed->baseline->components.at("cpu").provenance, Provenance::kIntegrated);
  EXPECT_EQ(parsed->baseline->above, Joules(-12.5));
  EXPECT_FALSE(parsed->baseline->estimated_power);
  EXPECT_EQ(parsed->study->more_series, std::vector<std::string>{"large"});
  ASSERT_EQ(parsed->metrics.size(), 3U);
  EXPECT_EQ(parsed->metrics[0].mean, 61.5);
  EXPECT_FALSE(parsed->metrics[1].mean);
  EXPECT_EQ(parsed->metrics[2].bit_shares.at("sw_power_cap"), 0.25);
}

TEST(RunJson, AbsentValuesHaveNoKey) {
  RunRecord run = example_run();
  run.energy = {};
  run.baseline.reset();
  run.training->loss = std::numeric_limits<double>::quiet_NaN();
  const std::string text = format_run_record(run);
  EXPECT_EQ(text.find("total_j"), std::string::npos);
  EXPECT_EQ(text.find("baseline"), std::string::npos);
  EXPECT_EQ(text.find("\"loss\""), std::string::npos);
  EXPECT_EQ(text.find("null"), std::string::npos);
  EXPECT_FALSE(parse_run_record(text)->energy.total);
}

TEST(RunJson, WrongTypesNameTheirKey) {
  std::string text = format_run_record(example_run());
  text.replace(text.find("\"samples\": 20000"), 16, "\"samples\": \"many\"");
  const auto parsed = parse_run_record(text);
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().text(), "'training.samples' is not an integer");
}

TEST(RunJson, ImpossibleNumbersNameTheirKey) {
  const auto error_after = [](const std::string& from, const std::string& to) {
    std::string text = format_run_record(example_run());
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    const auto parsed = parse_run_record(text);
    return parsed ? std::string() : parsed.error().text();
  };
  EXPECT_EQ(error_after("\"total_j\": 100", "\"total_j\": -5"),
            "'energy.total_j' is not 0 or more");
  EXPECT_EQ(error_after("\"duration_s\": 12.5", "\"duration_s\": -1"),
            "'duration_s' is not 0 or more");
}

TEST(RunJson, BaselineLengthsHaveAUnitAndLimits) {
  EXPECT_EQ(parse_baseline_length("10s"), std::chrono::seconds(10));
  EXPECT_EQ(parse_baseline_length("1500ms"), std::chrono::milliseconds(1500));
  EXPECT_EQ(parse_baseline_length("60min"), std::chrono::hours(1));
  for (const char* wrong : {"999ms", "3601s", "10", "s", "-5s", "nans", "10 s", "1e99h", ""}) {
    EXPECT_FALSE(parse_baseline_length(wrong)) << wrong;
  }
}

TEST(RunJson, TruncatedTextIsAnError) {
  const std::string text = format_run_record(example_run());
  for (std::size_t size = 0; size + 2 < text.size(); size += 7) {
    EXPECT_FALSE(parse_run_record(text.substr(0, size)));
  }
  EXPECT_FALSE(parse_run_record("[]"));
  EXPECT_FALSE(parse_run_record(R"({"schema": "joulescale.run/2"})"));
}

TEST(RunJson, BytesThatAreNotUtf8BecomeValid) {
  RunRecord run = example_run();
  run.command = {"a\xFF"};
  EXPECT_TRUE(parse_run_record(format_run_record(run)));
}

}  // namespace
}  // namespace joulescale
