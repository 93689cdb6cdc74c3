// SPDX-License-Identifier: Apache-2.0
// One run of the monitor against a fake NVML with a scenario of its own; several may go on at once.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "joulescale/base/clock.h"
#include "joulescale/record/run_record.h"

#include "tests/fakes/nvml/scenario.h"
#include "tests/integration/monitor/monitor_harness.h"
#include "tests/integration/monitor/run_times.h"
#include "tests/support/fake_nvml_dir.h"
#include "tests/support/program.h"
#include "tests/support/temp_dir.h"

namespace joulescale::testing {

struct ScenarioOptions {
  std::string gpus;      // the scenario's lines; its time 0 is the start of the run
  double seconds = 1.0;  // that the command takes
  std::vector<std::string> options = {};
  std::optional<std::string> cuda_visible_devices = {};
  std::filesystem::path root = {};  // empty: one that has nothing
};

class ScenarioRun {
 public:
  explicit ScenarioRun(const ScenarioOptions& options)
      : fake_(JOULESCALE_FAKE_NVML_DIR,
              fmt::format("epoch_ns {}\n{}", system_clock().monotonic_now().count(), options.gpus)),
        program_(arguments(options), program_options(options)) {}

  /// Waits for the end.
  void finish() {
    ASSERT_EQ(program_.wait_status(), 0) << program_.err();
    times_.emplace(directory());
    run_ = read_checked_record(directory());
    expect_sums();
  }
  const RunRecord& record() const { return run_; }
  /// The run's flags, without that of a late start: on a busy test machine sources may take longer
  /// to open than the monitor waits for them.
  std::vector<std::string> flags_but_lateness() const {
    std::vector<std::string> flags = run_.flags;
    std::erase(flags, "late_start");
    return flags;
  }
  std::string err() const { return program_.err(); }
  std::filesystem::path directory() const { return work_.path() / "run"; }
  double seconds() const { return to_seconds(times_->end - times_->begin).value(); }

  /// Joules that a GPU really took; those that a counter without faults would show.
  double truth(std::size_t gpu) const {
    const fake_nvml::PowerShape power = scenario().devices.at(gpu).power;
    return power.energy_at(at(times_->end)) - power.energy_at(at(times_->begin));
  }
  double truth() const {
    double sum_j = 0.0;
    for (std::size_t i = 0; i < scenario().devices.size(); ++i) {
      sum_j += truth(i);
    }
    return sum_j;
  }
  std::size_t num_gpus() const { return scenario().devices.size(); }
  /// A moment of the run in the scenario's time.
  double at(Nanoseconds time) const {
    return to_seconds(time - Nanoseconds(*scenario().epoch_ns)).value();
  }
  const RunTimes& times() const { return *times_; }
  const SourceRecord* source(const std::string& name) const {
    const auto found = std::ranges::find(run_.sources, name, &SourceRecord::name);
    return found == run_.sources.end() ? nullptr : &*found;
  }

 private:
  std::vector<std::string> arguments(const ScenarioOptions& options) const {
    std::vector<std::string> all = {
        std::string(JOULESCALE_BIN_DIR) + "/joulescale",
        "monitor",
        "--output",
        directory().native(),
        "--root",
        options.root.empty() ? work_.path().native() : options.root.native(),
        "--nvml-library",
        fake_.library().native()};
    all.insert(all.end(), options.options.begin(), options.options.end());
    all.insert(all.end(), {"--", "sleep", fmt::format("{}", options.seconds)});
    return all;
  }
  static ProgramOptions program_options(const ScenarioOptions& options) {
    ProgramOptions program;
    if (options.cuda_visible_devices) {
      program.environment["CUDA_VISIBLE_DEVICES"] = *options.cuda_visible_devices;
    }
    return program;
  }
  fake_nvml::Scenario scenario() const {
    return fake_nvml::read_scenario(fake_.library().native() + ".scenario");
  }
  /// The total is the sum of what it says it includes, and nothing is negative.
  void expect_sums() const {
    double sum_j = 0.0;
    for (const std::string& name : run_.energy.total_includes) {
      sum_j += run_.energy.components.at(name).energy.value();
    }
    if (run_.energy.total) {
      EXPECT_NEAR(run_.energy.total->value(), sum_j, 1e-9 * sum_j);
      EXPECT_NEAR(run_.power.mean->value(), sum_j / seconds(), 1e-6 * sum_j / seconds());
    } else {
      EXPECT_TRUE(run_.energy.total_includes.empty());
    }
    for (const auto& [name, component] : run_.energy.components) {
      EXPECT_GE(component.energy.value(), 0.0) << name;
      EXPECT_GE(component.uncertainty.value_or(Joules(0.0)).value(), 0.0) << name;
    }
    for (const SourceRecord& part : run_.sources) {
      EXPECT_GE(part.energy.value_or(Joules(0.0)).value(), 0.0) << part.name;
    }
  }

  TempDir work_;
  FakeNvmlDir fake_;
  Program program_;
  std::optional<RunTimes> times_;
  RunRecord run_;
};

}  // namespace joulescale::testing
