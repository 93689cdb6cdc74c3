// SPDX-License-Identifier: Apache-2.0
// Random nodes (16 GPUs and 2 sockets at most), the real program, energies in closed form: what is
// stated as uncertainty covers the truth.
#include <cmath>
#include <cstdlib>
#include <list>
#include <memory>

#include <gtest/gtest.h>

#include "tests/integration/monitor/live_counters.h"
#include "tests/integration/monitor/scenario_run.h"
#include "tests/support/random_power.h"

namespace joulescale::testing {
namespace {

using fake_nvml::PowerShape;

std::string random_gpus(Random& random) {
  std::string lines;
  const int gpus = random.integer(0, 16);
  for (int gpu = 0; gpu < gpus; ++gpu) {
    const double update_ms = random.log_uniform(1.0, 1000.0);
    lines += fmt::format("gpu GPU-{} NVIDIA Fake\nstart_mj {}\nupdate_ms {} {}\n{}",
                         gpu,
                         random.integer(1, 1'000'000'000),
                         update_ms,
                         random.uniform(0.0, update_ms),
                         scenario_line(random_shape(random, 700.0)));
    switch (random.integer(0, 9)) {
      case 0:
        lines += "energy_codes 3x*\n";
        break;
      case 1:
        lines += "power_codes 3x*\n";
        break;
      default:
        break;
    }
  }
  return lines;
}

/// A node, its fakes and a run on it.
class RandomRun {
 public:
  explicit RandomRun(std::uint64_t seed) {
    Random random(seed);
    const std::string gpus = random_gpus(random);
    const int sockets = random.integer(0, 2);
    std::map<std::string, LiveCounters::Counter> counters;
    for (int socket = 0; socket < sockets; ++socket) {
      const std::string package = fmt::format("intel-rapl:{}", socket);
      add_zone(random, package, fmt::format("package-{}", socket), 350.0, packages_, counters);
      if (random.integer(0, 1) == 1) {
        add_zone(random, package + ":0", "dram", 60.0, drams_, counters);
      }
    }
    if (sockets > 0) {
      live_ = std::make_unique<LiveCounters>(
          tree_, counters, std::chrono::milliseconds(random.integer(2, 20)));
    }
    ScenarioOptions options{gpus, random.uniform(0.3, 3.0), {}, {}, tree_.root()};
    options.options = {"--rate", fmt::format("{:.2f}", random.log_uniform(1.0, 100.0))};
    run_.emplace(options);
  }

  /// Adds what came out to the counts.
  void finish(int& covered, int& all, std::vector<double>& widths) {
    ASSERT_NO_FATAL_FAILURE(run_->finish());
    const auto check = [&](const char* name, double truth_j, double fake_error_j) {
      const auto& components = run_->record().energy.components;
      if (truth_j == 0.0 || !components.contains(name)) {
        return;
      }
      const ComponentEnergy& component = components.at(name);
      const double error_j = std::abs(component.energy.value() - truth_j);
      covered += error_j <= component.uncertainty->value() + fake_error_j ? 1 : 0;
      ++all;
      widths.push_back(component.uncertainty->value() / truth_j);
    };
    check("gpu", gpu_truth(), 0.0);
    check("cpu", zone_truth(packages_), late_joules(350.0, packages_));
    check("dram", zone_truth(drams_), late_joules(60.0, drams_));
  }

 private:
  void add_zone(Random& random,
                const std::string& id,
                const std::string& name,
                double highest_w,
                std::vector<PowerShape>& shapes,
                std::map<std::string, LiveCounters::Counter>& counters) {
    const auto range_uj = static_cast<std::uint64_t>(random.log_uniform(1e9, 2.6e11));
    const double start_j = random.uniform(0.0, 1e-6 * static_cast<double>(range_uj));
    tree_.add_zone(id, name, static_cast<std::uint64_t>(start_j * 1e6) % range_uj, range_uj);
    tree_.set_text(id, "constraint_0_max_power_uw", "350000000\n");
    const PowerShape shape = random_shape(random, highest_w);
    shapes.push_back(shape);
    counters[id] = [=](double time_s) {
      return static_cast<std::uint64_t>((start_j + shape.energy_at(time_s)) * 1e6) % range_uj;
    };
  }
  /// Of the GPUs that gave a value: a slow counter without power may not move in a short run.
  double gpu_truth() const {
    double sum_j = 0.0;
    for (std::size_t gpu = 0; gpu < run_->num_gpus(); ++gpu) {
      const SourceRecord* energy = run_->source(fmt::format("nvml/GPU-{}/energy", gpu));
      const SourceRecord* power = run_->source(fmt::format("nvml/GPU-{}/power", gpu));
      const bool has_value =
          (energy != nullptr && energy->energy) || (power != nullptr && power->energy);
      sum_j += has_value ? run_->truth(gpu) : 0.0;
    }
    return sum_j;
  }
  double zone_truth(const std::vector<PowerShape>& shapes) const {
    double sum_j = 0.0;
    for (const PowerShape& shape : shapes) {
      sum_j += shape.energy_at(live_->seconds_at(run_->times().end)) -
               shape.energy_at(live_->seconds_at(run_->times().begin));
    }
    return sum_j;
  }
  double late_joules(double highest_w, const std::vector<PowerShape>& shapes) const {
    return live_ ? live_->seconds_late() * highest_w * static_cast<double>(shapes.size()) : 0.0;
  }

  PowercapTree tree_;
  std::vector<PowerShape> packages_;
  std::vector<PowerShape> drams_;
  std::unique_ptr<LiveCounters> live_;
  std::optional<ScenarioRun> run_;
};

TEST(MonitorRandomRuns, UncertaintyCoversTheTruth) {
  const bool soak = std::getenv("JOULESCALE_SOAK") != nullptr;
  const std::uint64_t num_runs = soak ? 200 : 20;
  constexpr std::uint64_t kAtOnce = 5;
  int covered = 0;
  int all = 0;
  std::vector<double> widths;
  for (std::uint64_t first = 0; first < num_runs; first += kAtOnce) {
    std::list<RandomRun> runs;
    for (std::uint64_t seed = first; seed < first + kAtOnce; ++seed) {
      runs.emplace_back(seed);
    }
    std::uint64_t seed = first;
    for (RandomRun& run : runs) {
      SCOPED_TRACE(fmt::format("seed {}", seed++));
      const int before = covered;
      const int of = all;
      ASSERT_NO_FATAL_FAILURE(run.finish(covered, all, widths));
      if (covered - before != all - of) {
        fmt::print("seed {}: {} of {} components within their uncertainty\n",
                   seed - 1,
                   covered - before,
                   all - of);
      }
    }
  }
  ASSERT_GT(all, 0);
  std::ranges::sort(widths);
  fmt::print("{} of {} energies within their uncertainty; its median is {:.2f} % of the energy\n",
             covered,
             all,
             100.0 * widths[widths.size() / 2]);
  // Few runs: 5 % and two standard deviations of a binomial count.
  const double noise = soak ? 0.0 : 2.0 * std::sqrt(0.05 * 0.95 * all);
  EXPECT_LE(all - covered, 0.05 * all + noise);
  EXPECT_LT(widths[widths.size() / 2], 0.5);  // runs are as short as a few readings
}

}  // namespace
}  // namespace joulescale::testing
