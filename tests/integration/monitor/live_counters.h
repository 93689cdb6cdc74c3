// SPDX-License-Identifier: Apache-2.0
// A powercap tree whose counters move by themselves.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "joulescale/base/clock.h"
#include "joulescale/record/run_record.h"

#include "tests/support/powercap_tree.h"

namespace joulescale::testing {

/// Keeps energy_uj of zones at functions of the time, as hardware does, every `period`.
class LiveCounters {
 public:
  /// Nothing: the zone cannot be read at that time.
  using Counter = std::function<std::optional<std::uint64_t>(double time_s)>;

  LiveCounters(PowercapTree& tree,
               std::map<std::string, Counter> counters,
               std::chrono::microseconds period)
      : started_(system_clock().monotonic_now()),
        thread_([this, &tree, counters = std::move(counters), period] {
          double previous_s = 0.0;
          while (!stop_) {
            const double time_s = seconds_at(system_clock().monotonic_now());
            longest_rest_s_ = std::max(longest_rest_s_.load(), time_s - previous_s);
            previous_s = time_s;
            for (const auto& [zone, counter] : counters) {
              const auto energy_uj = counter(time_s);
              energy_uj ? tree.set_energy(zone, *energy_uj) : tree.set_no_energy(zone);
            }
            std::this_thread::sleep_for(period);
          }
        }) {}
  ~LiveCounters() {
    stop_ = true;
    thread_.join();
  }
  LiveCounters(const LiveCounters&) = delete;
  LiveCounters& operator=(const LiveCounters&) = delete;

  double seconds_at(Nanoseconds time) const { return to_seconds(time - started_).value(); }
  /// How long the counters stood still because this machine was too busy to move them in time; 0
  /// where they moved as often as they should.
  double seconds_late() const {
    constexpr double kOnTimeSeconds = 0.006;
    return longest_rest_s_ > kOnTimeSeconds ? longest_rest_s_.load() : 0.0;
  }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<double> longest_rest_s_{0.0};
  Nanoseconds started_;
  std::thread thread_;
};

/// A tree that has its zone before anything moves.
struct OnePackage : PowercapTree {
  OnePackage() { add_zone("intel-rapl:0", "package-0", 0); }
};

/// One package that takes 100 W.
struct SteadyPackage {
  static constexpr double kWatts = 100.0;

  /// What the counter may have shown too late.
  double late_joules() const { return counters.seconds_late() * kWatts; }

  OnePackage tree;
  LiveCounters counters{
      tree,
      {{"intel-rapl:0", [](double t) { return static_cast<std::uint64_t>(kWatts * 1e6 * t); }}},
      std::chrono::milliseconds(2)};
};

/// `fake_error_j`: what the fake itself may have shown too late.
inline void expect_energy(const ComponentEnergy& component,
                          double expected_j,
                          double fake_error_j = 0.0) {
  const double allowed = std::max(1e-3 * expected_j, component.uncertainty->value()) + fake_error_j;
  EXPECT_NEAR(component.energy.value(), expected_j, allowed);
  if (fake_error_j == 0.0) {
    // The uncertainty must not be an excuse: 0.3 s worth of energy at most on these fakes. One that
    // stood still and jumped may have been in doubt for longer.
    EXPECT_LT(component.uncertainty->value(), 0.25 * expected_j);
  }
}

}  // namespace joulescale::testing
