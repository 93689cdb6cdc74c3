// SPDX-License-Identifier: Apache-2.0
// A study of shell scripts in a directory of its own, and what the sweep made of it.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "joulescale/store/run_store.h"

#include "tests/support/program_run.h"
#include "tests/support/temp_dir.h"

namespace joulescale::testing {

class StudyTest : public ::testing::Test {
 protected:
  const std::string program_ = JOULESCALE_BIN_DIR "/joulescale";
  const TempDir dir_;
  std::filesystem::path study_ = dir_ / "study";
  std::filesystem::path file_ = dir_ / "study file.toml";

  /// A study of `repetitions` x 3 configurations, each of which runs `script` with sh; devices,
  /// LBS, GBS and seed are its arguments.
  void write_study(const std::string& script, int repetitions = 1, const std::string& extra = "") {
    std::ofstream(dir_ / "work.sh") << "#!/bin/sh\n" << script << "\n";
    std::ofstream(file_) << "schema = \"joulescale.study/1\"\nname = \"demo\"\nrepetitions = "
                         << repetitions << "\n"
                         << extra << "\n[workload]\nkind = \"command\"\nargv = [\"sh\", \""
                         << (dir_ / "work.sh").native()
                         << "\", \"{devices}\", \"{local_batch_size}\", \"{global_batch_size}\", "
                            "\"{seed}\"]\n[[series]]\nname = \"lbs\"\ndevices = [1, 2]\n"
                            "local_batch_size = 64\n[[series]]\nname = \"gbs\"\ndevices = [1, 2]\n"
                            "global_batch_size = 128\n";
  }

  std::vector<std::string> sweep_run() const {
    return {program_, "sweep", "run", file_.native(), "--output", study_.native()};
  }

  /// Runs the sweep to its end; returns its status and keeps its words in err_.
  int run_sweep() {
    ProgramRun run(sweep_run());
    const int status = run.wait(std::chrono::seconds(100));
    err_ = run.err();
    return status;
  }
  std::string err_;

  std::string status_table() const {
    ProgramRun run({program_, "sweep", "status", study_.native()});
    EXPECT_EQ(run.wait(), 0) << run.err();
    return run.out();
  }

  /// run.json of every run, by run name.
  std::map<std::string, std::string> records() const {
    std::map<std::string, std::string> found;
    std::error_code code;
    for (std::filesystem::directory_iterator entry(study_ / "runs", code), end;
         !code && entry != end;
         entry.increment(code)) {
      const std::string text = ProgramRun::text_of(entry->path() / "run.json");
      if (!text.empty()) {
        found[entry->path().filename()] = text;
      }
    }
    return found;
  }

  /// "series devices LBS repetition status", one line a run: what a table is made of.
  std::string results() const {
    const auto loaded = load_runs(study_);
    EXPECT_TRUE(loaded) << (loaded ? "" : loaded.error().text());
    std::string text;
    for (const RunRecord& run : loaded ? loaded->runs : std::vector<RunRecord>()) {
      text += run.study->series + " " +
              std::to_string(std::get<std::int64_t>(run.study->axes.at("devices"))) + " " +
              std::to_string(std::get<std::int64_t>(run.study->axes.at("local_batch_size"))) + " " +
              std::to_string(run.study->repetition) + " " +
              std::to_string(run.exit_status.value_or(-1)) + "\n";
    }
    return text;
  }

  /// No process of the study is left.
  ::testing::AssertionResult nothing_runs() const {
    std::vector<std::string> left;
    if (eventually([&] { return (left = processes_with(dir_.path().native())).empty(); })) {
      return ::testing::AssertionSuccess();
    }
    return ::testing::AssertionFailure() << left.size() << " left, such as " << left.front();
  }
};

}  // namespace joulescale::testing
