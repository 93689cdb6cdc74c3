// SPDX-License-Identifier: Apache-2.0
// What the monitor costs, in counts that do not depend on how fast or busy the machine is: threads,
// wake-ups, and that bench/monitor itself works.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "joulescale/base/clock.h"
#include "joulescale/sensors/catalogue.h"

#include "tests/integration/monitor/fake_node.h"
#include "tests/integration/monitor/monitor_harness.h"

namespace joulescale::testing {
namespace {

struct ThreadUse {
  int threads = 0;
  long wake_ups = 0;  // so far
};

ThreadUse threads_of(pid_t pid) {
  ThreadUse use;
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
    ++use.threads;
    std::ifstream status(task.path() / "status");
    std::string line;
    while (std::getline(status, line)) {
      if (line.starts_with("voluntary_ctxt_switches:")) {
        use.wake_ups += std::stol(line.substr(line.find(':') + 1));
      }
    }
  }
  return use;
}

using MonitorCost = MonitorTest;

TEST_F(MonitorCost, OneWakeUpAReadingAndOneThreadASource) {
  const FakeNode node;
  SourceOptions sources;
  const std::size_t num_sensors = make_sensors(sources, system_clock()).size();
  Program program(monitor(node.monitor_options(), {"sh", "-c", "echo started; exec sleep 60"}));
  ASSERT_TRUE(program.wait_for_output("started"));
  // Past the start, when update periods are learned.
  system_clock().sleep_until(system_clock().monotonic_now() + std::chrono::seconds(1));
  const Nanoseconds began = system_clock().monotonic_now();
  const ThreadUse first = threads_of(program.pid());
  system_clock().sleep_until(began + std::chrono::seconds(2));
  const ThreadUse last = threads_of(program.pid());
  const double seconds = to_seconds(system_clock().monotonic_now() - began).value();
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait_status(), -SIGTERM);

  EXPECT_LE(last.threads, static_cast<int>(num_sensors) + 2);  // the recorder and the main thread
  // 10 readings a second of each source, one wake-up a second of the others; half as many again
  // for locks that two threads want at once, and for a second boundary within the window.
  const double allowed = 1.5 * (10.0 * static_cast<double>(num_sensors) + 4.0) * seconds;
  EXPECT_LT(static_cast<double>(last.wake_ups - first.wake_ups), allowed);
}

TEST_F(MonitorCost, TheBenchMeasuresIt) {
  Program program(
      {JOULESCALE_SOURCE_DIR "/bench/monitor", "--quick", "--build", JOULESCALE_BUILD_DIR});
  EXPECT_EQ(program.wait_status(), 0) << program.err();
  EXPECT_NE(program.out().find("joulescale 10Hz"), std::string::npos) << program.out();
  EXPECT_NE(program.out().find("times as long under joulescale"), std::string::npos);
}

}  // namespace
}  // namespace joulescale::testing
