// SPDX-License-Identifier: Apache-2.0
// Helpers of the monitor's integration tests: the real program in a directory of the test's own.
#pragma once

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "joulescale/record/run_json.h"

#include "tests/support/json_schema.h"
#include "tests/support/program.h"
#include "tests/support/temp_dir.h"

namespace joulescale::testing {

/// run.json of a run directory; also holds it to the schema.
inline RunRecord read_checked_record(const std::filesystem::path& run_directory) {
  std::ifstream schema_file(JOULESCALE_SOURCE_DIR "/docs/run.schema.json");
  const JsonSchema schema(nlohmann::json::parse(schema_file));
  std::ifstream file(run_directory / "run.json");
  const auto document = nlohmann::json::parse(file, nullptr, false);
  EXPECT_FALSE(document.is_discarded());
  for (const std::string& violation : schema.violations(document)) {
    ADD_FAILURE() << violation;
  }
  auto run = read_run_record(run_directory / "run.json");
  EXPECT_TRUE(run.ok()) << run.error().text();
  return run.ok() ? *run : RunRecord();
}

class MonitorTest : public ::testing::Test {
 protected:
  static std::string joulescale() { return std::string(JOULESCALE_BIN_DIR) + "/joulescale"; }

  std::filesystem::path run_directory() const { return work_ / "run"; }

  /// "joulescale monitor --quiet --output run <options> -- <command>".
  std::vector<std::string> monitor(const std::vector<std::string>& options,
                                   const std::vector<std::string>& command) const {
    std::vector<std::string> arguments = {
        joulescale(), "monitor", "--quiet", "--output", run_directory().native()};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.emplace_back("--");
    arguments.insert(arguments.end(), command.begin(), command.end());
    return arguments;
  }

  RunRecord record() const { return read_checked_record(run_directory()); }

  /// Until the file below the run directory is there and not empty; false after `patience`.
  bool wait_for_file(const std::string& name, std::chrono::milliseconds patience) const {
    constexpr std::chrono::milliseconds kLook{10};
    std::error_code missing;
    for (std::chrono::milliseconds waited{0}; waited < patience; waited += kLook) {
      const auto size = std::filesystem::file_size(run_directory() / name, missing);
      if (!missing && size > 0) {
        return true;
      }
      std::this_thread::sleep_for(kLook);
    }
    return false;
  }

  /// Until the rank's monitor has registered, shortly before it opens its sources: what starts then
  /// comes second.
  void wait_for_rank(int rank, std::chrono::milliseconds patience) const {
    EXPECT_TRUE(wait_for_file("ranks/" + std::to_string(rank) + ".json", patience))
        << "rank " << rank << " did not come";
  }

  TempDir work_;
};

/// The environment that torchrun gives rank `rank` of a launch of this test.
inline std::map<std::string, std::string> torchrun_rank(int rank, int world_size) {
  return {{"RANK", std::to_string(rank)},
          {"WORLD_SIZE", std::to_string(world_size)},
          {"LOCAL_RANK", std::to_string(rank)},
          {"TORCHELASTIC_RUN_ID", "test-" + std::to_string(::getpid())},
          {"MASTER_ADDR", "127.0.0.1"},
          {"MASTER_PORT", "29500"}};
}

/// Lock files that a launch left behind on this node.
inline std::vector<std::string> lock_files(const std::string& launch_id) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    const std::string name = entry.path().filename().native();
    if (name.find(launch_id) != std::string::npos) {
      found.push_back(name);
    }
  }
  return found;
}

}  // namespace joulescale::testing
