// SPDX-License-Identifier: Apache-2.0
#include "joulescale/analysis/scaling.h"

#include <algorithm>

namespace joulescale {
namespace {

/// Samples of a run; of one epoch where the epochs are not known (the same for a whole series).
std::optional<double> samples_of(const MeasuredConfiguration& configuration) {
  const auto& key = configuration.key;
  const auto samples = key.samples ? key.samples : key.dataset_samples;
  return samples && *samples > 0 ? std::optional(static_cast<double>(*samples)) : std::nullopt;
}

std::optional<double> ratio(std::optional<double> value, std::optional<double> reference) {
  return value && reference && *reference > 0.0 ? std::optional(*value / *reference) : std::nullopt;
}

std::optional<double> throughput(const MeasuredConfiguration& configuration) {
  return ratio(samples_of(configuration), configuration.runtime_s.mean);
}

std::optional<double> energy_per_sample(const MeasuredConfiguration& configuration) {
  return ratio(configuration.energy_kwh.mean, samples_of(configuration));
}

}  // namespace

std::vector<ScalingPoint> scaling_of(const StudyAnalysis& analysis, const Group& group) {
  std::vector<ScalingPoint> points;
  if (group.configurations.empty()) {
    return points;
  }
  const auto& configurations = analysis.configurations;
  // The first of the fewest devices: configurations are ordered by their keys.
  const std::size_t reference_index = *std::min_element(
      group.configurations.begin(),
      group.configurations.end(),
      [&](std::size_t left, std::size_t right) {
        return configurations[left].key.num_devices < configurations[right].key.num_devices;
      });
  const MeasuredConfiguration& reference = configurations[reference_index];
  for (const std::size_t index : group.configurations) {
    const MeasuredConfiguration& configuration = configurations[index];
    ScalingPoint point;
    point.configuration = index;
    point.reference = reference_index;
    point.speedup = ratio(throughput(configuration), throughput(reference));
    if (point.speedup && reference.key.num_devices > 0 && configuration.key.num_devices > 0) {
      point.efficiency = *point.speedup * reference.key.num_devices / configuration.key.num_devices;
    }
    if (configuration.energy_includes == reference.energy_includes) {
      point.energy_ratio = ratio(energy_per_sample(configuration), energy_per_sample(reference));
    }
    points.push_back(point);
  }
  return points;
}

}  // namespace joulescale
