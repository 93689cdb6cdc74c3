// SPDX-License-Identifier: Apache-2.0
// What is read beside energy, through the real program.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/monitor/live_counters.h"
#include "tests/integration/monitor/monitor_harness.h"
#include "tests/support/fake_nvml_dir.h"

namespace joulescale {
namespace {

using ::testing::Contains;
using testing::expect_energy;
using testing::FakeNvmlDir;
using ::testing::HasSubstr;
using testing::Program;

const std::string kGpus = std::string(R"(gpu GPU-1 NVIDIA A
start_mj 1000
update_ms 20
power 0:100
power_fields instant average
)") + testing::kEveryMetric +
                          R"(gpu GPU-2 NVIDIA A
start_mj 1000
power 0:100
metric temperature 40
)";

class MetricsTest : public testing::MonitorTest {
 protected:
  static const MetricRecord* find(const RunRecord& run, const std::string& name) {
    const auto found = std::ranges::find(run.metrics, name, &MetricRecord::name);
    return found == run.metrics.end() ? nullptr : &*found;
  }
  static const MetricRecord& metric(const RunRecord& run, const std::string& name) {
    static const MetricRecord kNone;
    const MetricRecord* found = find(run, name);
    EXPECT_NE(found, nullptr) << name;
    return found == nullptr ? kNone : *found;
  }

  std::vector<std::string> gpu_options(const FakeNvmlDir& gpus) const {
    return {"--root", empty_root_.path().native(), "--nvml-library", gpus.library().native()};
  }

  testing::TempDir empty_root_;
};

TEST_F(MetricsTest, GpuMetricsStandBesideEnergyAndAreNoPartOfIt) {
  const FakeNvmlDir gpus(JOULESCALE_FAKE_NVML_DIR, kGpus);
  Program result(monitor(gpu_options(gpus), {"sleep", "2.2"}));
  ASSERT_EQ(result.wait_status(), 0) << result.err();
  const RunRecord run = record();
  const double seconds = run.duration.value();
  expect_energy(run.energy.components.at("gpu"), 200.0 * seconds);
  EXPECT_NEAR(run.energy.components.at("gpu").integrated->value(), 200.0 * seconds, 60.0);
  EXPECT_EQ(metric(run, "nvml/GPU-1/gpu_utilization").mean, 87.0);
  EXPECT_EQ(metric(run, "nvml/GPU-1/gpu_utilization").unit, "percent");
  EXPECT_GE(metric(run, "nvml/GPU-1/gpu_utilization").samples, 2U);
  EXPECT_EQ(metric(run, "nvml/GPU-1/memory_used").maximum, 6e10);
  EXPECT_EQ(metric(run, "nvml/GPU-1/power_limit").minimum, 700.0);
  EXPECT_EQ(metric(run, "nvml/GPU-1/throttle_reasons").bit_shares.at("sw_power_cap"), 1.0);
  EXPECT_EQ(metric(run, "nvml/GPU-1/throttle_reasons").bit_shares.at("hw_slowdown"), 0.0);
  EXPECT_EQ(metric(run, "nvml/GPU-2/temperature").maximum, 40.0);
  EXPECT_EQ(metric(run, "nvml/GPU-2/temperature").node, run.ranks.at(0).node);
  EXPECT_EQ(find(run, "nvml/GPU-2/sm_clock"), nullptr) << "not supported is absent";
  std::vector<std::string> sources;
  sources.reserve(run.sources.size());
  for (const SourceRecord& source : run.sources) {
    sources.push_back(source.name);
  }
  EXPECT_THAT(sources,
              ::testing::UnorderedElementsAre("nvml/GPU-1/energy",
                                              "nvml/GPU-1/power_instant",
                                              "nvml/GPU-2/energy",
                                              "nvml/GPU-2/power"));
}

TEST_F(MetricsTest, RecoveringGivesTheSameMetrics) {
  const FakeNvmlDir gpus(JOULESCALE_FAKE_NVML_DIR, kGpus);
  Program program(monitor(gpu_options(gpus), {"sleep", "1.3"}));
  ASSERT_EQ(program.wait_status(), 0) << program.err();
  const RunRecord before = record();
  std::filesystem::remove(run_directory() / "run.json");
  for (const auto& node : std::filesystem::directory_iterator(run_directory() / "nodes")) {
    std::filesystem::remove(node.path() / "node.json");
  }
  Program recovered({joulescale(), "recover", run_directory().native()});
  ASSERT_EQ(recovered.wait_status(), 0) << recovered.err();
  EXPECT_THAT(recovered.out(), HasSubstr("87 % busy"));
  const RunRecord after = record();
  ASSERT_FALSE(before.metrics.empty());
  ASSERT_EQ(after.metrics.size(), before.metrics.size());
  for (std::size_t i = 0; i < after.metrics.size(); ++i) {
    EXPECT_EQ(after.metrics[i].name, before.metrics[i].name);
    EXPECT_EQ(after.metrics[i].samples, before.metrics[i].samples);
    EXPECT_EQ(after.metrics[i].maximum, before.metrics[i].maximum);
    EXPECT_EQ(after.metrics[i].bit_shares.size(), before.metrics[i].bit_shares.size());
  }
}

TEST_F(MetricsTest, AHangingMetricDelaysNeitherCommandNorEnergyNorEnd) {
  // Every call for a metric takes a minute; energy and power answer at once.
  const FakeNvmlDir gpus(JOULESCALE_FAKE_NVML_DIR, kGpus + "metrics_ms 60000\n");
  const auto begin = std::chrono::steady_clock::now();
  Program result(monitor(gpu_options(gpus), {"sleep", "1"}));
  ASSERT_EQ(result.wait_status(), 0) << result.err();
  const auto taken = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(taken, std::chrono::seconds(30)) << "half of one call, on a busy machine";
  const RunRecord run = record();
  expect_energy(run.energy.components.at("gpu"), 200.0 * run.duration.value());
  EXPECT_THAT(run.flags, ::testing::Not(Contains("late_start")));
  EXPECT_EQ(find(run, "nvml/GPU-2/temperature"), nullptr);
}

TEST_F(MetricsTest, ExportWritesTheTimelineToAFileOrSaysWhyNot) {
  const FakeNvmlDir gpus(JOULESCALE_FAKE_NVML_DIR, kGpus);
  Program measured(monitor(gpu_options(gpus), {"sleep", "0.5"}));
  ASSERT_EQ(measured.wait_status(), 0) << measured.err();
  const std::string file = (work_ / "timeline.csv").native();
  Program exported({joulescale(), "export", run_directory().native(), "--output", file});
  ASSERT_EQ(exported.wait_status(), 0) << exported.err();
  std::ifstream lines(file);
  const std::string text{std::istreambuf_iterator<char>(lines), {}};
  EXPECT_THAT(text, ::testing::StartsWith("time_utc,time_s,node,rank,channel,"));
  EXPECT_THAT(text, HasSubstr(",nvml/GPU-1/power_instant,gpu,power,integrated,"));
  EXPECT_THAT(text, HasSubstr(",nvml/GPU-2/temperature,gpu,metric,,,,,40,degC\n"));
  Program printed({joulescale(), "export", run_directory().native()});
  ASSERT_EQ(printed.wait_status(), 0);
  EXPECT_EQ(printed.out(), text);
  Program nowhere({joulescale(), "export", work_.path().native()});
  EXPECT_EQ(nowhere.wait_status(), 2);
  EXPECT_THAT(nowhere.err(), HasSubstr("no run directory"));
  Program refused(
      {joulescale(), "export", run_directory().native(), "--output", "/nonexistent/x.csv"});
  EXPECT_EQ(refused.wait_status(), 2);
  EXPECT_THAT(refused.err(), HasSubstr("/nonexistent/x.csv"));
}

TEST_F(MetricsTest, TheCommandsCpuTimeIsThatOfAllItsProcesses) {
  // bash itself tells what it and its children used; memory is read once a second.
  const std::string times = (work_ / "times").native();
  const std::string script =
      "burn() { for ((i = 0; i < 300000; ++i)); do :; done; }; "
      "burn & (burn; burn) & burn; wait; sleep 2.2; times > " +
      times;
  Program result(monitor({"--nvml-library", "/dev/null"}, {"bash", "-c", script}));
  ASSERT_EQ(result.wait_status(), 0) << result.err();
  double expected_s = 0.0;
  std::ifstream file(times);
  std::string word;
  while (file >> word) {  // "0m1.234s"
    const std::size_t minutes_end = word.find('m');
    expected_s +=
        60.0 * std::stod(word.substr(0, minutes_end)) + std::stod(word.substr(minutes_end + 1));
  }
  ASSERT_GT(expected_s, 0.1);
  const RunRecord run = record();
  const MetricRecord& found = metric(run, "load/rank-0/cpu_time");
  // The kernel's ticks, the start of bash itself, and the monitor's own helper.
  constexpr double kAllowedSeconds = 0.08;
  EXPECT_NEAR(found.difference.value_or(0.0), expected_s, kAllowedSeconds + 0.02 * expected_s);
  EXPECT_GT(metric(run, "load/rank-0/rss").maximum.value_or(0.0), 0.0);
  EXPECT_GE(metric(run, "load/node/cpu_time").difference.value_or(0.0),
            0.9 * expected_s - kAllowedSeconds);
  EXPECT_GT(metric(run, "load/node/memory_used").mean.value_or(0.0), 0.0);
}

TEST_F(MetricsTest, MemoryThatNoReadingSawIsAbsentNotZero) {
  Program brief(monitor({"--nvml-library", "/dev/null"}, {"sleep", "0.2"}));
  ASSERT_EQ(brief.wait_status(), 0) << brief.err();
  const RunRecord brief_run = record();
  const MetricRecord* rss = find(brief_run, "load/rank-0/rss");
  EXPECT_TRUE(rss == nullptr || !rss->maximum || *rss->maximum > 0.0);
  std::filesystem::remove_all(run_directory());
  Program longer(monitor({"--nvml-library", "/dev/null"}, {"sleep", "2.2"}));
  ASSERT_EQ(longer.wait_status(), 0) << longer.err();
  const RunRecord run = record();
  EXPECT_GT(metric(run, "load/rank-0/rss").minimum.value_or(0.0), 0.0)
      << "the last reading comes after the command's end";
}

}  // namespace
}  // namespace joulescale
