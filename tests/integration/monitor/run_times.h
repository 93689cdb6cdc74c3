// SPDX-License-Identifier: Apache-2.0
// When the command of a run ran, out of its journal.
#pragma once

#include <filesystem>
#include <vector>

#include <gtest/gtest.h>

#include "joulescale/monitor/journal.h"

namespace joulescale::testing {

/// When the command ran.
class RunTimes final : public JournalVisitor {
 public:
  explicit RunTimes(const std::filesystem::path& run_directory) {
    for (const auto& node : std::filesystem::directory_iterator(run_directory / "nodes")) {
      EXPECT_TRUE(read_journal(node.path() / "journal-0", *this).ok());
    }
  }
  void on_begin(Nanoseconds time) override { begin = time; }
  void on_end(Nanoseconds time, bool, int) override { end = time; }

  Nanoseconds begin{0};
  Nanoseconds end{0};
};

}  // namespace joulescale::testing
