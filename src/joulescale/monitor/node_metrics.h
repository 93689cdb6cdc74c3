// SPDX-License-Identifier: Apache-2.0
// The accounts of a node's metrics: apart from those of energy, so that nothing can be added
// across.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "joulescale/monitor/metric_account.h"

namespace joulescale {

/// Not thread safe.
class NodeMetrics {
 public:
  /// `bounded`: a begin will be told, and memory does not grow with what is read before it.
  explicit NodeMetrics(bool bounded) : bounded_(bounded) {}

  /// The number of the channel's account; one that was declared before goes on.
  std::size_t add(const Channel& channel, Nanoseconds sample_period);
  MetricAccount& account(std::size_t number) { return accounts_[number]; }
  const MetricAccount& account(std::size_t number) const { return accounts_[number]; }

  // As MetricAccount has them:
  void keep_begin(Nanoseconds begin);
  void forget_before(Nanoseconds time);
  /// Those with a reading, by name.
  std::vector<MetricRecord> finish(Nanoseconds begin, Nanoseconds end);

 private:
  bool bounded_;
  std::optional<Nanoseconds> begin_;
  std::vector<MetricAccount> accounts_;
};

}  // namespace joulescale
