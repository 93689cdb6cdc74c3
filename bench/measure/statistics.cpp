// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/statistics.h"

#include <algorithm>
#include <cstddef>
#include <random>

namespace bench {
namespace {

constexpr std::size_t kResamples = 4000;

double median_of(std::vector<double>& values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2.0;
}

}  // namespace

Estimate estimate_median(std::vector<double> values) {
  std::mt19937_64 random(20240607);  // NOLINT(*-msc51-cpp): the same values, the same interval
  std::uniform_int_distribution<std::size_t> index(0, values.size() - 1);
  std::vector<double> medians(kResamples);
  std::vector<double> sample(values.size());
  for (double& median : medians) {
    std::ranges::generate(sample, [&] { return values[index(random)]; });
    median = median_of(sample);
  }
  std::ranges::sort(medians);
  return {median_of(values), medians[kResamples * 25 / 1000], medians[kResamples * 975 / 1000 - 1]};
}

}  // namespace bench
