// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/shared_node.h"

#include "joulescale/sensors/load/load_sensor.h"

namespace joulescale {
namespace {

constexpr double kShareOfOthers = 0.1;
constexpr double kCoresOfOthers = 0.5;
constexpr double kLeastSeconds = 1.0;

}  // namespace

bool is_shared_node(std::span<const MetricRecord> metrics,
                    std::size_t num_ranks,
                    Seconds overhead) {
  double node_s = 0.0;
  double node_cores = 0.0;
  double ours_s = overhead.value();
  std::size_t num_trees = 0;
  for (const MetricRecord& metric : metrics) {
    if (!metric.difference || !metric.mean_rate) {
      continue;
    }
    if (metric.name == kNodeCpuTime) {
      node_s = *metric.difference;
      node_cores = *metric.mean_rate;
    } else if (is_rank_cpu_time(metric.name)) {
      ours_s += *metric.difference;
      ++num_trees;
    }
  }
  if (node_s <= 0.0 || node_cores <= 0.0 || num_trees < num_ranks) {
    return false;
  }
  const double seconds = node_s / node_cores;
  const double others_s = node_s - ours_s;
  return seconds >= kLeastSeconds && others_s > kShareOfOthers * node_s &&
         others_s > kCoresOfOthers * seconds;
}

}  // namespace joulescale
