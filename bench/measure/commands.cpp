// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/commands.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <functional>
#include <thread>

#include "bench/measure/process_tree.h"
#include "bench/measure/statistics.h"

namespace bench {
namespace {

constexpr useconds_t kUseInterval = 20'000;  // microseconds

/// `measure(base, n)` and `measure(tool, n)` beside each other, the order changing: what slows the
/// machine for a while slows both.
void in_pairs(const Options& options,
              const std::function<void(double base, double tool)>& take,
              const std::function<double(const Command&, long)>& measure) {
  for (long pair = -1; pair < options.pairs; ++pair) {  // the first one warms up
    const bool base_first = pair % 2 == 0;
    double base = base_first ? measure(options.base, 2 * pair + 2) : 0.0;
    const double tool = measure(options.tool, 2 * pair + 3);
    base = base_first ? base : measure(options.base, 2 * pair + 2);
    if (pair >= 0) {
      take(base, tool);
    }
  }
}

}  // namespace

void wall(const Options& options) {
  std::vector<double> added;
  std::vector<double> bases;
  in_pairs(
      options,
      [&](double base, double tool) {
        added.push_back(tool - base);
        bases.push_back(base);
      },
      [&](const Command& command, long run) { return timed_run(command, run, options.limit_s); });
  const Estimate estimate = estimate_median(added);
  std::printf("%.6f\t%.6f\t%.6f\t%.6f\n",
              estimate.median,
              estimate.low,
              estimate.high,
              estimate_median(bases).median);
}

void slowdown(const Options& options) {
  std::vector<double> ratios;
  in_pairs(
      options,
      [&](double base, double tool) { ratios.push_back(tool / base); },
      [&](const Command& command, long run) {
        timed_run(command, run, options.limit_s);
        double seconds = 0.0;
        if (!(std::ifstream(options.result_file) >> seconds) || seconds <= 0.0) {
          fail("the wrapped command left no time in " + options.result_file);
        }
        return seconds;
      });
  const Estimate estimate = estimate_median(ratios);
  std::printf("%.6f\t%.6f\t%.6f\n", estimate.median, estimate.low, estimate.high);
}

void use(const Options& options) {
  const pid_t pid = start(numbered(options.tool, 0));
  const double started = monotonic_seconds();
  double peak_pss = 0.0;
  double peak_rss = 0.0;
  std::size_t processes = 0;
  int threads = 0;
  std::map<pid_t, ProcessUse> first;
  std::map<pid_t, ProcessUse> last;
  double first_time = 0.0;
  double last_time = 0.0;
  std::vector<pid_t> before;
  int status = 0;
  while (::waitpid(pid, &status, WNOHANG) == 0) {
    const double now = monotonic_seconds() - started;
    if (now > options.limit_s) {
      kill_group(pid);
      fail(options.tool.front() + " did not return within its limit");
    }
    // A process that has been there for two looks: not one on its way to exec.
    std::vector<pid_t> present = tool_processes(pid);
    std::vector<pid_t> lasting;
    std::ranges::copy_if(present, std::back_inserter(lasting), [&](pid_t p) {
      return std::ranges::find(before, p) != before.end();
    });
    before = std::move(present);
    const auto uses = use_of(lasting);
    double pss = 0.0;
    double rss = 0.0;
    int num_threads = 0;
    for (const auto& [process, one] : uses) {
      pss += one.pss_kib;
      rss += one.rss_peak_kib;
      num_threads += one.threads;
    }
    peak_pss = std::max(peak_pss, pss);
    peak_rss = std::max(peak_rss, rss);
    processes = std::max(processes, uses.size());
    threads = std::max(threads, num_threads);
    if (now >= options.from_s && now <= options.seconds && !uses.empty()) {
      if (first.empty()) {
        first = uses;
        first_time = monotonic_seconds();
      }
      last = uses;
      last_time = monotonic_seconds();
    }
    ::usleep(kUseInterval);
  }
  double cpu = 0.0;
  double switches = 0.0;
  for (const auto& [process, end] : last) {
    cpu += end.cpu_s - first[process].cpu_s;
    switches += end.switches - first[process].switches;
  }
  const double length = last_time - first_time;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || length <= 0.0) {
    fail(options.tool.front() + " failed");
  }
  std::printf("%.0f\t%.0f\t%zu\t%d\t%.7f\t%.2f\n",
              peak_pss,
              peak_rss,
              processes,
              threads,
              cpu / length,
              switches / length);
}

void spin(const Options& options) {
  const double started = monotonic_seconds();
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) {
    threads.emplace_back([&] {
      volatile double value = 1.0;
      for (long step = 0; step < options.work * 1'000'000; ++step) {
        value = value * 1.0000001 + 1e-9;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  std::ofstream(options.result_file) << monotonic_seconds() - started << '\n';
}

void timer(const Options& options) {
  const auto period = std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 / options.rate_hz));
  const auto began = std::chrono::steady_clock::now();
  const auto end = began + std::chrono::duration<double>(options.seconds);
  const std::clock_t cpu_before = std::clock();
  auto next = began;
  while (next < end) {
    next += period;
    std::this_thread::sleep_until(next);
  }
  const double cpu_s = static_cast<double>(std::clock() - cpu_before) / CLOCKS_PER_SEC;
  const std::chrono::duration<double> length = std::chrono::steady_clock::now() - began;
  std::printf("%.7f\n", cpu_s / length.count());
}

}  // namespace bench
