// SPDX-License-Identifier: Apache-2.0
// The device check on a fake driver: what it says without a GPU, and that its sums are right.
#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_nvml_dir.h"
#include "tests/support/program.h"

namespace joulescale::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kNoCuda = "/nonexistent/libcuda.so.1";

/// The columns of the row that begins with `begin`, in the table below a heading.
std::vector<std::string> row_of(const std::string& page,
                                const std::string& heading,
                                const std::string& begin) {
  std::istringstream lines(page.substr(std::min(page.find("## " + heading), page.size())));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(begin)) {
      std::vector<std::string> columns;
      std::istringstream cells(line.substr(1));
      for (std::string cell; std::getline(cells, cell, '|');) {
        columns.push_back(cell);
      }
      return columns;
    }
  }
  ADD_FAILURE() << "no row '" << begin << "' in\n" << page;
  return {};
}

std::size_t num_lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(DeviceCheck, ComparesCounterAndPowerOfEachGpu) {
  const FakeNvmlDir fake(JOULESCALE_FAKE_NVML_DIR,
                         "driver 580.1\ngpu GPU-aaaa NVIDIA Fake\nupdate_ms 20\npower 0:100\n"
                         "mig MIG-one\ngpu GPU-bbbb NVIDIA Fake\nupdate_ms 100\npower 0:50\n");
  Program program({JOULESCALE_DEVICE_CHECK,
                   "--nvml-library",
                   fake.library().native(),
                   "--cuda-library",
                   kNoCuda,
                   "--seconds",
                   "4"});
  ASSERT_EQ(program.wait_status(), 0);
  const std::string page = program.out();
  EXPECT_THAT(page, HasSubstr("driver 580.1"));
  EXPECT_THAT(row_of(page, "GPUs", "| 0 | GPU-aaaa")[4], HasSubstr("MIG-one"));
  EXPECT_THAT(page, HasSubstr("nvmlFieldValue_t as declared here: 40 bytes"));
  EXPECT_THAT(page, HasSubstr("Load not tested: '/nonexistent/libcuda.so.1' cannot be loaded."));
  const auto updates = row_of(page, "Update periods, idle", "| GPU-aaaa | idle | energy counter");
  EXPECT_GT(std::stod(updates.at(3)), 15.0);  // the fake's 20 ms; a busy machine misses some
  EXPECT_LT(std::stod(updates.at(3)), 100.0);
  for (const char* begin : {"| GPU-aaaa | idle | power usage", "| GPU-bbbb | idle | power usage"}) {
    // A reading may come late by a good part of the 4 s on a busy machine.
    EXPECT_NEAR(std::stod(row_of(page, "Counter against power, idle", begin).at(5)), 1.0, 0.2)
        << begin;
  }
}

TEST(DeviceCheck, LoadsTheGpuThatCudaShowsFirst) {
  const FakeNvmlDir fake(JOULESCALE_FAKE_NVML_DIR,
                         "gpu GPU-aaaa NVIDIA Fake\npower 0:100\n"
                         "gpu GPU-00010203-0405-0607-0809-0a0b0c0d0e0f NVIDIA Fake\npower 0:700\n");
  Program program({JOULESCALE_DEVICE_CHECK,
                   "--nvml-library",
                   fake.library().native(),
                   "--cuda-library",
                   JOULESCALE_FAKE_CUDA,
                   "--seconds",
                   "2"});
  ASSERT_EQ(program.wait_status(), 0);
  const std::string page = program.out();
  const std::string uuid = "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f";
  EXPECT_THAT(row_of(page, "GPUs", "| 0 | " + uuid).at(2), HasSubstr("1"));  // CUDA's 0 is NVML's 1
  EXPECT_NEAR(
      std::stod(
          row_of(page, "Counter against power, under load", "| " + uuid + " | load | power usage")
              .at(4)),
      700.0,
      0.1);
  EXPECT_THAT(page, Not(HasSubstr("Load not tested")));
  EXPECT_THAT(page, Not(HasSubstr("broke off")));
}

TEST(DeviceCheck, WithoutAGpuSaysSoInOneLineAndEndsWithTwo) {
  const FakeNvmlDir no_driver(JOULESCALE_FAKE_NVML_DIR, "init 9\n");
  const FakeNvmlDir no_gpu(JOULESCALE_FAKE_NVML_DIR, "driver 580.1\n");
  for (const std::string& library :
       {std::string("/none.so"), no_driver.library().native(), no_gpu.library().native()}) {
    Program program({JOULESCALE_DEVICE_CHECK, "--nvml-library", library});
    EXPECT_EQ(program.wait_status(), 2);
    EXPECT_EQ(program.out(), "");
    EXPECT_THAT(program.err(), StartsWith("device-check: no NVIDIA GPU can be checked here"));
    EXPECT_EQ(num_lines(program.err()), 1U) << program.err();
  }
}

TEST(DeviceCheck, TheScriptNeedsNothingButACompiler) {
  Program script({JOULESCALE_SOURCE_DIR "/scripts/device-check", "--nvml-library", "/none.so"});
  EXPECT_EQ(script.wait_status(), 2);
  EXPECT_EQ(script.out(), "");
  EXPECT_THAT(script.err(), HasSubstr("'/none.so' cannot be loaded"));
  EXPECT_EQ(num_lines(script.err()), 1U) << script.err();
}

}  // namespace
}  // namespace joulescale::testing
