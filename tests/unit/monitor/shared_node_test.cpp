// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/shared_node.h"

#include <vector>

#include <gtest/gtest.h>

namespace joulescale {
namespace {

MetricRecord cpu_time(const std::string& name, double difference_s, double seconds) {
  MetricRecord metric;
  metric.name = name;
  metric.unit = "s";
  metric.difference = difference_s;
  metric.mean_rate = difference_s / seconds;
  return metric;
}

/// A node of which two ranks used 40 s each in 100 s.
bool is_shared(double node_s, double overhead_s = 0.0) {
  const std::vector<MetricRecord> metrics = {cpu_time("load/node/cpu_time", node_s, 100.0),
                                             cpu_time("load/rank-0/cpu_time", 40.0, 100.0),
                                             cpu_time("load/rank-1/cpu_time", 40.0, 99.0)};
  return is_shared_node(metrics, 2, Seconds(overhead_s));
}

TEST(SharedNode, OthersCountWhenTheyAreManyAndBusy) {
  EXPECT_FALSE(is_shared(80.0));
  EXPECT_FALSE(is_shared(120.0)) << "0.4 core";
  EXPECT_TRUE(is_shared(140.0)) << "0.6 core, 43 %";
  EXPECT_FALSE(is_shared(140.0, 15.0)) << "some of it was the monitors'";
  const std::vector<MetricRecord> large = {cpu_time("load/node/cpu_time", 6400.0, 100.0),
                                           cpu_time("load/rank-0/cpu_time", 6200.0, 100.0)};
  EXPECT_FALSE(is_shared_node(large, 1, Seconds(0.0))) << "2 cores, but 3 % of a large machine";
}

TEST(SharedNode, WhatIsNotKnownIsNotClaimed) {
  const std::vector<MetricRecord> one_rank = {cpu_time("load/node/cpu_time", 200.0, 100.0),
                                              cpu_time("load/rank-0/cpu_time", 40.0, 100.0)};
  EXPECT_TRUE(is_shared_node(one_rank, 1, Seconds(0.0)));
  EXPECT_FALSE(is_shared_node(one_rank, 2, Seconds(0.0))) << "the other rank's time is missing";
  const std::vector<MetricRecord> no_node = {cpu_time("load/rank-0/cpu_time", 40.0, 100.0)};
  EXPECT_FALSE(is_shared_node(no_node, 1, Seconds(0.0)));
  const std::vector<MetricRecord> brief = {cpu_time("load/node/cpu_time", 1.8, 0.9),
                                           cpu_time("load/rank-0/cpu_time", 0.1, 0.9)};
  EXPECT_FALSE(is_shared_node(brief, 1, Seconds(0.0)));
}

}  // namespace
}  // namespace joulescale
