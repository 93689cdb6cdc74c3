// SPDX-License-Identifier: Apache-2.0
// The stated uncertainty must hold: of thousands of random nodes, each sampled as the monitor does
// it, the true energy lies within it in 95 % of the cases, and it is not so wide as to say nothing.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "joulescale/monitor/node_meter.h"

#include "tests/support/random_power.h"
#include "tests/support/synthetic_node.h"

namespace joulescale {
namespace {

using testing::Random;
using testing::random_shape;
using testing::SyntheticSampling;
using testing::SyntheticSource;

SyntheticSource cpu_source(Random& random, const std::string& name, Domain domain) {
  SyntheticSource source;
  source.channel.name = "powercap/" + name;
  source.channel.overlap_group = name;
  source.channel.domain = domain;
  source.channel.unit = RawUnit::kMicrojoule;
  source.channel.plausible_power = Watts(1000.0);
  source.update_s =
      random.integer(0, 4) == 0 ? random.log_uniform(0.001, 1.0) : random.log_uniform(1e-3, 3e-3);
  // A counter that rests for long and goes round fast would be ambiguous; there are none.
  const double least_range_uj = source.update_s > 3e-3 ? 5e9 : 3e8;
  source.channel.counter_range =
      random.integer(0, 1) == 0
          ? 262'143'328'850
          : static_cast<std::uint64_t>(random.log_uniform(least_range_uj, 6e10));
  source.start = static_cast<std::uint64_t>(random.uniform(0.0, 0.999) *
                                            static_cast<double>(*source.channel.counter_range));
  source.shape = random_shape(random, domain == Domain::kDram ? 60.0 : 350.0);
  source.phase_s = random.uniform(0.0, source.update_s);
  return source;
}

/// What a GPU has: counter and power, counter only, power only.
std::vector<SyntheticSource> gpu_sources(Random& random, int number) {
  SyntheticSource counter;
  counter.channel.name = fmt::format("nvml/GPU-{}/energy", number);
  counter.channel.overlap_group = fmt::format("GPU-{}", number);
  counter.channel.domain = Domain::kGpu;
  counter.channel.unit = RawUnit::kMillijoule;
  counter.channel.plausible_power = Watts(1400.0);
  counter.shape = random_shape(random, 700.0);
  counter.update_s = random.log_uniform(0.001, 1.0);
  counter.phase_s = random.uniform(0.0, counter.update_s);
  counter.start = 123'456'789;
  SyntheticSource power = counter;
  power.channel.name = fmt::format("nvml/GPU-{}/power", number);
  power.channel.quantity = Quantity::kPower;
  power.channel.behavior = Behavior::kGauge;
  power.channel.unit = RawUnit::kMilliwatt;
  power.channel.provenance = Provenance::kIntegrated;
  switch (random.integer(0, 4)) {
    case 0:
      return {power};
    case 1:
      return {counter};
    default:
      return {counter, power};
  }
}

/// How often the truth lay within the stated uncertainty, and how wide that was.
struct Tally {
  int within = 0;
  int all = 0;
  std::vector<double> widths;        // uncertainty / energy
  std::vector<double> in_intervals;  // the same, in units of one reading or update interval

  void add(double error_j, double uncertainty_j, double truth_j, double interval_share) {
    within += std::abs(error_j) <= uncertainty_j ? 1 : 0;
    ++all;
    widths.push_back(uncertainty_j / truth_j);
    in_intervals.push_back(uncertainty_j / truth_j / interval_share);
  }
  double share() const { return static_cast<double>(within) / all; }
};

double quantile(std::vector<double>& values, double share) {
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::ranges::nth_element(values, at);
  return *at;
}

struct RandomRuns {
  std::map<std::string, Tally> tallies;
  std::map<std::string, int> flags;
};

void run_node(std::uint64_t seed, RandomRuns& runs) {
  Random random(seed);
  std::vector<SyntheticSource> cpus;
  const int sockets = random.integer(1, 2);
  for (int i = 0; i < sockets; ++i) {
    cpus.push_back(cpu_source(random, fmt::format("package-{}", i), Domain::kCpu));
    cpus.push_back(cpu_source(random, fmt::format("package-{}/dram", i), Domain::kDram));
  }
  std::vector<SyntheticSource> gpus;
  const int num_gpus = random.integer(1, 3);
  for (int i = 0; i < num_gpus; ++i) {
    std::ranges::move(gpu_sources(random, i), std::back_inserter(gpus));
  }
  const Nanoseconds period(static_cast<std::int64_t>(1e9 / random.log_uniform(1.0, 100.0)));
  const double duration_s = random.uniform(0.3, 3.0);

  NodeMeter meter;
  SyntheticSampling cpu(std::move(cpus), false);
  SyntheticSampling gpu(std::move(gpus), true);
  const Nanoseconds ready = std::max(cpu.open(meter, period), gpu.open(meter, period));
  const Nanoseconds begin = ready + std::chrono::microseconds(1000 + random.integer(0, 2000));
  const Nanoseconds end = begin + Nanoseconds(static_cast<std::int64_t>(duration_s * 1e9));
  cpu.run(meter, begin, end, random.engine());
  gpu.run(meter, begin, end, random.engine());
  const NodeEnergy energy = meter.finish(begin, end);
  for (const std::string& flag : energy.flags) {
    if (flag == "gap" && !energy.still.empty()) {
      continue;  // a slow counter that moved less than twice within a short run
    }
    ++runs.flags[flag];
  }
  for (const SyntheticSampling* sampling : {&cpu, &gpu}) {
    std::map<std::string, const SyntheticSource*> groups;
    for (const SyntheticSource& source : sampling->sources()) {
      groups[source.channel.overlap_group] = &source;
    }
    for (const auto& [name, source] : groups) {
      const auto group = std::ranges::find(energy.groups, name, &GroupEnergy::group);
      if (group == energy.groups.end()) {
        continue;  // a slow counter that did not move within a short run
      }
      const double truth_j = sampling->truth(*source, begin, end);
      const double error_j = group->energy.energy.value() - truth_j;
      const double uncertainty_j = group->energy.uncertainty->value();
      EXPECT_GE(group->energy.energy.value(), 0.0);
      const bool integrated = group->energy.provenance == Provenance::kIntegrated;
      const double interval_s = std::max(to_seconds(sampling->period()).value(), source->update_s);
      for (const std::string& tally :
           {integrated ? "gpu power" : group->component, std::string("all")}) {
        runs.tallies[tally].add(error_j, uncertainty_j, truth_j, interval_s / duration_s);
      }
    }
  }
}

TEST(Uncertainty, CoversTheTruthInNinetyFivePercentOfRandomRuns) {
  const int nodes = std::getenv("JOULESCALE_SOAK") != nullptr ? 10'000 : 2'000;
  RandomRuns runs;
  for (int seed = 0; seed < nodes; ++seed) {
    run_node(static_cast<std::uint64_t>(seed), runs);
  }
  for (auto& [name, tally] : runs.tallies) {
    const double share = static_cast<double>(tally.within) / tally.all;
    fmt::print("{:<10} within {:.2f} % of {}; uncertainty / energy: median {:.4f}, 95 % {:.4f}\n",
               name,
               100.0 * share,
               tally.all,
               quantile(tally.widths, 0.5),
               quantile(tally.widths, 0.95));
    EXPECT_GE(share, 0.95) << name;
    // At each edge half an interval for the tick and up to half of one to the nearest point.
    EXPECT_LE(quantile(tally.in_intervals, 0.5), 2.0) << name;
  }
  for (const auto& [flag, count] : runs.flags) {
    // Power that is read in step with its own changes may be wrong, and the counter shows it. A
    // counter that wraps just when the power rises fivefold may have started anew.
    EXPECT_TRUE(flag == "counter_power_disagree" || flag == "wrap_ambiguous") << flag;
    EXPECT_LT(count, nodes / 20) << flag;
  }
}

/// What a run's last moments do that its counters tell little of.
struct LastMoments {
  bool is_gpu = false;
  bool has_power = false;
  bool stops = false;  // the counter
};

/// The power of one device rises, shortly before the end of a run.
void run_to_a_rise(std::uint64_t seed, const LastMoments& moments, Tally& tally) {
  Random random(seed);
  std::vector<SyntheticSource> sources(1);
  SyntheticSource& counter = sources.front();
  counter.channel.domain = moments.is_gpu ? Domain::kGpu : Domain::kCpu;
  counter.channel.name = moments.is_gpu ? "nvml/GPU-0/energy" : "powercap/package-0";
  counter.channel.overlap_group = moments.is_gpu ? "GPU-0" : "package-0";
  counter.channel.unit = moments.is_gpu ? RawUnit::kMillijoule : RawUnit::kMicrojoule;
  counter.channel.plausible_power = Watts(1400.0);
  counter.update_s = moments.is_gpu ? random.log_uniform(0.02, 0.1) : 0.001;
  counter.phase_s = random.uniform(0.0, counter.update_s);
  counter.start = 123'456'789;
  counter.shape.points = {{0.0, random.uniform(40.0, 300.0)}};
  const double counter_update_s = counter.update_s;
  if (moments.has_power) {
    SyntheticSource power = counter;
    power.channel.name = "nvml/GPU-0/power_instant";
    power.channel.quantity = Quantity::kPower;
    power.channel.behavior = Behavior::kGauge;
    power.channel.unit = RawUnit::kMilliwatt;
    power.channel.provenance = Provenance::kIntegrated;
    power.update_s = 0.02;
    sources.push_back(power);
  }
  const double period_s = 1.0 / random.log_uniform(1.0, 20.0);
  const double duration_s = random.uniform(std::max(0.5, 3.0 * period_s), 5.0);

  NodeMeter meter;
  SyntheticSampling sampling(std::move(sources), moments.is_gpu);
  const Nanoseconds ready =
      sampling.open(meter, Nanoseconds(static_cast<std::int64_t>(period_s * 1e9)));
  const Nanoseconds begin = ready + std::chrono::milliseconds(1);
  const Nanoseconds end = begin + Nanoseconds(static_cast<std::int64_t>(duration_s * 1e9));
  const auto before_end = [&](double least_s) {
    const double before_s = random.uniform(least_s, std::max(least_s, 2.0 * period_s));
    return end - Nanoseconds(static_cast<std::int64_t>(before_s * 1e9));
  };
  sampling.step_power(before_end(0.0), random.uniform(300.0, 700.0));
  if (moments.stops) {
    // Where neither close readings at the end nor a power show it, it must have rested for longer
    // than periods may differ.
    const bool is_shown = !moments.is_gpu || moments.has_power;
    sampling.stop_counters(before_end(is_shown ? 0.0 : period_s + 1.5 * counter_update_s + 0.01));
  }
  sampling.run(meter, begin, end, random.engine());
  const NodeEnergy energy = meter.finish(begin, end);
  ASSERT_EQ(energy.groups.size(), 1U);
  const double truth_j = sampling.truth(sampling.sources().front(), begin, end);
  const ComponentEnergy& entry = energy.groups.front().energy;
  tally.add(entry.energy.value() - truth_j, entry.uncertainty->value(), truth_j, 1.0);
}

TEST(Uncertainty, CoversTheTruthWhereThePowerRisesAndACounterStopsShortlyBeforeTheEnd) {
  const int runs = std::getenv("JOULESCALE_SOAK") != nullptr ? 5'000 : 500;
  const std::map<std::string, LastMoments> kinds = {
      {"cpu", {false, false, false}},
      {"cpu stops", {false, false, true}},
      {"gpu", {true, true, false}},
      {"gpu stops", {true, true, true}},
      {"gpu counter stops", {true, false, true}},
  };
  for (const auto& [name, moments] : kinds) {
    Tally tally;
    for (int seed = 0; seed < runs; ++seed) {
      run_to_a_rise(static_cast<std::uint64_t>(seed), moments, tally);
    }
    fmt::print("{:<18} within {:.2f} %; uncertainty / energy: median {:.4f}, 95 % {:.4f}\n",
               name,
               100.0 * tally.share(),
               quantile(tally.widths, 0.5),
               quantile(tally.widths, 0.95));
    EXPECT_GE(tally.share(), 0.95) << name;
  }
}

}  // namespace
}  // namespace joulescale
