// SPDX-License-Identifier: Apache-2.0
// Which of sixteen GPUs a run measures, by CUDA_VISIBLE_DEVICES and --devices.
#include <cstdlib>
#include <list>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/monitor/scenario_run.h"

namespace joulescale::testing {
namespace {

using ::testing::ElementsAreArray;

constexpr std::size_t kGpus = 16;

std::string uuid_of(std::size_t gpu) {
  if (gpu == 10 || gpu == 11) {  // a common prefix
    return fmt::format("GPU-abcd{}-0000", gpu - 9);
  }
  return fmt::format("GPU-{:x}c0ffee-{:04}", gpu, gpu);
}

double watts_of(std::size_t gpu) { return 100.0 + 20.0 * static_cast<double>(gpu); }

/// GPUs 14 and 15 are split into instances.
std::string sixteen_gpus() {
  std::string lines;
  for (std::size_t gpu = 0; gpu < kGpus; ++gpu) {
    lines += fmt::format(
        "gpu {} NVIDIA Fake\nstart_mj 5\nupdate_ms 10\npower 0:{}\n", uuid_of(gpu), watts_of(gpu));
    if (gpu >= 14) {
      lines += fmt::format("mig MIG-{:x}1\nmig MIG-{:x}2\n", gpu, gpu);
    }
  }
  return lines;
}

struct Selection {
  std::optional<std::string> value;
  std::set<std::size_t> measured;
  // NOLINTBEGIN(readability-redundant-member-init): g++ warns of initializers that leave these out
  std::vector<std::string> flags = {};
  std::vector<std::string> options = {};
  // NOLINTEND(readability-redundant-member-init)
  int devices = -1;  // that the command may use; else as many as are measured
};

std::vector<Selection> selections() {
  std::set<std::size_t> all;
  for (std::size_t gpu = 0; gpu < kGpus; ++gpu) {
    all.insert(gpu);
  }
  return {
      {std::nullopt, all, {"mig_parent"}},
      {"", {}, {"no_sensor"}},
      {"3", {3}},
      {"5,1,3", {1, 3, 5}},
      {uuid_of(7), {7}},
      {uuid_of(9) + "," + uuid_of(2), {2, 9}},
      {"GPU-7", {7}},
      {"2,GPU-abcd,4", {2}},  // fits two: CUDA stops there
      {"GPU-abcd1,GPU-abcd2", {10, 11}},
      {"MIG-e2", {14}, {"mig_parent"}},
      {"MIG-e1,MIG-e2", {14}, {"mig_parent"}},
      {"MIG-" + uuid_of(15) + "/1/0", {15}, {"mig_parent"}},
      {"-1", {}, {"no_sensor"}},
      {"4,-1,5", {4}},
      {" 2 , 4 ", {2, 4}},
      {"5,5", {}, {"no_sensor"}},
      {"3,16,1", {3}},
      {"3", all, {"devices_not_visible", "mig_parent"}, {"--devices", "all"}, 1},
  };
}

void expect_selection(const Selection& selection, ScenarioRun& run) {
  SCOPED_TRACE(selection.value.value_or("(unset)"));
  ASSERT_NO_FATAL_FAILURE(run.finish());
  std::set<std::string> expected;
  double truth_j = 0.0;
  for (const std::size_t gpu : selection.measured) {
    expected.insert("nvml/" + uuid_of(gpu) + "/energy");
    truth_j += run.truth(gpu);
  }
  std::set<std::string> found;
  for (const SourceRecord& source : run.record().sources) {
    if (source.name.ends_with("/energy")) {
      EXPECT_TRUE(found.insert(source.name).second) << source.name << " twice";
    }
  }
  EXPECT_EQ(found, expected);
  EXPECT_THAT(run.flags_but_lateness(), ElementsAreArray(selection.flags));
  const int measured = static_cast<int>(selection.measured.size());
  if (measured == 0) {
    EXPECT_FALSE(run.record().energy.total.has_value());
    EXPECT_EQ(run.record().devices.kind, "cpu_rank");
    return;
  }
  EXPECT_EQ(run.record().devices.kind, "gpu");
  EXPECT_EQ(run.record().devices.count, selection.devices < 0 ? measured : selection.devices);
  const ComponentEnergy& gpu = run.record().energy.components.at("gpu");
  EXPECT_NEAR(gpu.energy.value(), truth_j, std::max(1e-3 * truth_j, gpu.uncertainty->value()));
  EXPECT_LT(gpu.uncertainty->value(), 0.1 * truth_j);
}

TEST(MonitorDevices, AreExactlyThoseThatTheCommandMayUse) {
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  const std::vector<Selection> all = selections();
  constexpr std::size_t kAtOnce = 6;
  for (std::size_t first = 0; first < all.size(); first += kAtOnce) {
    std::list<ScenarioRun> runs;
    const std::size_t last = std::min(first + kAtOnce, all.size());
    for (std::size_t i = first; i < last; ++i) {
      ScenarioOptions options{sixteen_gpus(), 0.8, all[i].options, all[i].value, {}};
      runs.emplace_back(options);
    }
    std::size_t i = first;
    for (ScenarioRun& run : runs) {
      expect_selection(all[i++], run);
    }
  }
}

}  // namespace
}  // namespace joulescale::testing
