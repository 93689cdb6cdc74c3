// SPDX-License-Identifier: Apache-2.0
// What a metric did between the command's begin and end: a gauge's mean (weighted by time), least
// and highest value, a counter's difference and mean rate, the share of the time in which each bit
// of a mask was set. It knows no joules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "joulescale/monitor/account_state.h"
#include "joulescale/record/run_record.h"
#include "joulescale/sensors/sensor.h"

namespace joulescale {

/// Feed it every reading of one kMetric channel, in time order. Constant memory once the begin is
/// known; until then at most `most_early` readings are kept. Not thread safe.
class MetricAccount {
 public:
  MetricAccount(Channel channel, Nanoseconds sample_period, std::size_t most_early);

  const Channel& channel() const { return channel_; }

  /// A reading without a value is left out.
  void add(const RawReading& reading);
  /// Readings before it count no more, but for the last one. A later begin takes the place of an
  /// earlier one if it is told at most seconds after it.
  void keep_begin(Nanoseconds begin);
  /// Where no begin will be told: drops what no time from `time` on needs.
  void forget_before(Nanoseconds time);
  /// Where the account stands after all readings so far.
  MetricState state() const;
  /// Instead of the readings between two states of an account that was fed what this one was. Those
  /// before the begin give the last reading before it.
  void skip(const MetricState& from, const MetricState& to);
  /// Of the last reading with a value; 0 without one.
  Nanoseconds last_time() const;
  /// Call it once, last. `begin` as told before, if it was. Between two readings a gauge and each
  /// bit run straight, and from `begin` to the first and from the last to `end` they stand still,
  /// so that a mean lies between the least and the highest value; a stretch of more than 5 sample
  /// periods (and 2 s) without a reading has no weight. A counter's difference goes from the last
  /// reading before `begin` (else the first) to the first after `end` (else the last); where it
  /// falls it started anew. A gauge without a reading in between takes the nearest ones. Nothing
  /// without any reading; no `node` is set.
  std::optional<MetricRecord> finish(Nanoseconds begin, Nanoseconds end);

 private:
  using Sample = MetricSample;

  void start_anew();
  void take_all_but(std::size_t num_kept);
  void take(const Sample& sample);
  void take_beyond(const Sample& sample, Nanoseconds end);
  void count(const Sample& sample);
  void advance_counter(const Sample& sample);
  void weigh(const Sample& to, Nanoseconds until);
  void write_gauge(MetricRecord& record) const;
  void write_bits(MetricRecord& record) const;

  Channel channel_;
  Nanoseconds longest_interval_;
  std::size_t most_early_;
  std::optional<Nanoseconds> begin_;
  std::deque<Sample> waiting_;  // not taken yet: the begin, or whether the end was before, is open
  MetricState state_;           // but for the weighted sum, which state() gives
  double mean_ = 0.0;  // raw, over the state's weight: that of equal values is just that value
};

}  // namespace joulescale
