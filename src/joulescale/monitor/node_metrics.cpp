// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/node_metrics.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace joulescale {
namespace {

/// Readings of a metric that are kept until the command's begin is known: minutes, at 1 Hz.
constexpr std::size_t kMostEarlyReadings = 256;

}  // namespace

std::size_t NodeMetrics::add(const Channel& channel, Nanoseconds sample_period) {
  const auto known = std::ranges::find_if(accounts_, [&](const MetricAccount& account) {
    return account.channel().name == channel.name && account.channel().unit == channel.unit;
  });
  if (known != accounts_.end()) {
    return static_cast<std::size_t>(known - accounts_.begin());
  }
  MetricAccount& account = accounts_.emplace_back(
      channel,
      sample_period,
      bounded_ ? kMostEarlyReadings : std::numeric_limits<std::size_t>::max());
  if (begin_) {
    account.keep_begin(*begin_);
  }
  return accounts_.size() - 1;
}

void NodeMetrics::keep_begin(Nanoseconds begin) {
  begin_ = begin;
  for (MetricAccount& account : accounts_) {
    account.keep_begin(begin);
  }
}

void NodeMetrics::forget_before(Nanoseconds time) {
  for (MetricAccount& account : accounts_) {
    account.forget_before(time);
  }
}

std::vector<MetricRecord> NodeMetrics::finish(Nanoseconds begin, Nanoseconds end) {
  std::vector<MetricRecord> records;
  for (MetricAccount& account : accounts_) {
    if (auto record = account.finish(begin, end)) {
      records.push_back(std::move(*record));
    }
  }
  std::ranges::sort(records, {}, &MetricRecord::name);
  return records;
}

}  // namespace joulescale
