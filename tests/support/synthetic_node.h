// SPDX-License-Identifier: Apache-2.0
// A node that exists only on a clock: sensors with scripted power, sampled as monitor/sampler.h
// does it (probe at opening, absolute deadlines with some lateness, a reading just before the
// command's begin and just after its end, the wait for a last tick), and its energy in closed form.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "joulescale/monitor/node_meter.h"
#include "joulescale/sensors/sensor.h"

#include "tests/fakes/nvml/power_shape.h"
#include "tests/support/fake_clock.h"

namespace joulescale::testing {

/// What one channel shows, `start` raw units at time 0.
struct SyntheticSource {
  Channel channel;
  fake_nvml::PowerShape shape;
  double update_s = 0.001;
  double phase_s = 0.0;
  std::uint64_t start = 0;
  double stop_s = std::numeric_limits<double>::infinity();  // a counter stands still from then on

  std::uint64_t raw_at(double time_s) const {
    if (channel.quantity == Quantity::kEnergy) {
      time_s = std::min(time_s, stop_s);
    }
    const double ticks = std::floor((time_s - phase_s) / update_s);
    const double tick_s = std::max(0.0, ticks * update_s + phase_s);
    const double per_raw = si_per_raw_unit(channel.unit);
    if (channel.quantity == Quantity::kPower) {
      return static_cast<std::uint64_t>(std::llround(shape.power_at(tick_s) / per_raw));
    }
    const auto counted = static_cast<std::uint64_t>(shape.energy_at(tick_s) / per_raw);
    return channel.counter_range ? (start + counted) % *channel.counter_range : start + counted;
  }
};

class SyntheticSensor final : public Sensor {
 public:
  /// `probe_interval`, `probe_limit`: as the real source has them.
  SyntheticSensor(std::vector<SyntheticSource> sources,
                  FakeClock& clock,
                  Nanoseconds least_period,
                  Nanoseconds probe_interval,
                  Nanoseconds probe_limit)
      : sources_(std::move(sources)),
        clock_(clock),
        start_(clock.monotonic_now()),
        least_period_(least_period),
        probe_interval_(probe_interval),
        probe_limit_(probe_limit) {}

  std::string_view name() const override { return "synthetic"; }
  Result<void> open() override {
    for (const SyntheticSource& source : sources_) {
      channels_.push_back(source.channel);
    }
    const auto periods = probe_update_periods(*this, clock_, probe_interval_, probe_limit_);
    for (std::size_t i = 0; i < channels_.size(); ++i) {
      channels_[i].update_period = periods[i];
    }
    return {};
  }
  std::span<const Channel> channels() const override { return channels_; }
  std::span<const std::string> notes() const override { return {}; }
  Nanoseconds min_read_period() const override { return least_period_; }
  void read(std::span<RawReading> out) noexcept override {
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      const Nanoseconds before = clock_.monotonic_now();
      clock_.advance(std::chrono::microseconds(5));
      const std::uint64_t raw = sources_[i].raw_at(seconds_at(clock_.monotonic_now()));
      clock_.advance(std::chrono::microseconds(5));
      out[i] = {ReadStatus::kOk, raw, before, clock_.monotonic_now()};
    }
  }
  void close() noexcept override { channels_.clear(); }

  /// The sources' own time.
  double seconds_at(Nanoseconds time) const { return to_seconds(time - start_).value(); }
  const std::vector<SyntheticSource>& sources() const { return sources_; }
  std::vector<SyntheticSource>& sources() { return sources_; }

 private:
  std::vector<SyntheticSource> sources_;
  FakeClock& clock_;
  Nanoseconds start_;
  Nanoseconds least_period_;
  Nanoseconds probe_interval_;
  Nanoseconds probe_limit_;
  std::vector<Channel> channels_;
};

/// One sensor with a clock of its own: in the monitor each has its own thread.
class SyntheticSampling {
 public:
  SyntheticSampling(std::vector<SyntheticSource> sources, bool is_gpu)
      : sensor_(std::move(sources),
                clock_,
                std::chrono::milliseconds(is_gpu ? 50 : 0),
                std::chrono::microseconds(is_gpu ? 10'000 : 500),
                std::chrono::milliseconds(is_gpu ? 250 : 60)) {}

  /// Returns when the sensor is ready.
  Nanoseconds open(NodeMeter& meter, Nanoseconds period) {
    EXPECT_TRUE(sensor_.open().ok());
    period_ = std::max(period, sensor_.min_read_period());
    for (const Channel& channel : sensor_.channels()) {
      if (channel.counter_range) {
        const double round_s = static_cast<double>(*channel.counter_range) *
                               si_per_raw_unit(channel.unit) / channel.plausible_power.value();
        const Nanoseconds half_round(
            static_cast<std::int64_t>(std::min(round_s, 3600.0) / 2.0 * 1e9));
        period_ = std::max(std::min(period_, half_round), Nanoseconds(10'000'000));
      }
    }
    number_ = meter.add_sensor(sensor_.channels(), period_);
    next_ = clock_.monotonic_now();
    read(meter);
    return clock_.monotonic_now();
  }
  void run(NodeMeter& meter, Nanoseconds begin, Nanoseconds end, std::mt19937_64& random) {
    const Nanoseconds before_begin = begin - std::chrono::microseconds(700);
    read_until(meter, before_begin, random);
    clock_.sleep_until(before_begin);
    read(meter);
    read_until(meter, end, random);
    clock_.sleep_until(end + std::chrono::microseconds(200));
    read(meter);
    read_last_tick(meter,
                   clock_.monotonic_now() +
                       std::min<Nanoseconds>(std::chrono::milliseconds(150), (end - begin) / 100));
  }

  /// From then on all take so much; only for a time to come.
  void step_power(Nanoseconds time, double power_w) {
    const double at_s = sensor_.seconds_at(time);
    for (SyntheticSource& source : sensor_.sources()) {
      source.shape.points.push_back({at_s, source.shape.power_at(at_s)});
      source.shape.points.push_back({at_s, power_w});
    }
  }
  void stop_counters(Nanoseconds time) {
    for (SyntheticSource& source : sensor_.sources()) {
      source.stop_s = sensor_.seconds_at(time);
    }
  }

  /// Joules of a source.
  double truth(const SyntheticSource& source, Nanoseconds begin, Nanoseconds end) const {
    return source.shape.energy_at(sensor_.seconds_at(end)) -
           source.shape.energy_at(sensor_.seconds_at(begin));
  }
  const std::vector<SyntheticSource>& sources() const { return sensor_.sources(); }
  /// Between readings.
  Nanoseconds period() const { return period_; }

 private:
  void read(NodeMeter& meter) {
    readings_.resize(sensor_.channels().size());
    sensor_.read(readings_);
    meter.add(number_, readings_);
  }
  /// At absolute deadlines; mostly a fifth of a millisecond late, seldom much later.
  void read_until(NodeMeter& meter, Nanoseconds until, std::mt19937_64& random) {
    std::exponential_distribution<double> often(1.0 / 0.2e6);
    std::uniform_real_distribution<double> seldom(0.0, 30e6);
    while (true) {
      const bool late = random() % 100 == 0;
      const Nanoseconds due =
          next_ + Nanoseconds(static_cast<std::int64_t>(late ? seldom(random) : often(random)));
      if (due >= until) {
        return;
      }
      clock_.sleep_until(due);
      read(meter);
      next_ += ((clock_.monotonic_now() - next_) / period_ + 1) * period_;
    }
  }
  void read_last_tick(NodeMeter& meter, Nanoseconds until) {
    const Nanoseconds interval =
        std::max<Nanoseconds>(std::chrono::milliseconds(1), sensor_.min_read_period() / 5);
    std::vector<std::uint64_t> first;
    while (true) {
      read(meter);
      bool all_moved = !first.empty();
      for (std::size_t i = 0; i < readings_.size(); ++i) {
        if (first.size() < readings_.size()) {
          first.push_back(readings_[i].raw);
        } else if (sensor_.channels()[i].behavior == Behavior::kCounter) {
          all_moved = all_moved && readings_[i].raw != first[i];
        }
      }
      if (all_moved || clock_.monotonic_now() + interval > until) {
        return;
      }
      clock_.advance(interval);
    }
  }

  FakeClock clock_;
  SyntheticSensor sensor_;
  Nanoseconds period_{0};
  Nanoseconds next_{0};
  std::size_t number_ = 0;
  std::vector<RawReading> readings_;
};

}  // namespace joulescale::testing
