// SPDX-License-Identifier: Apache-2.0
// Random nodes for tests of the energy: one seed, one node.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <string>

#include <fmt/format.h>

#include "tests/fakes/nvml/power_shape.h"

namespace joulescale::testing {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  double uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(engine_);
  }
  double log_uniform(double low, double high) {
    return std::exp(uniform(std::log(low), std::log(high)));
  }
  int integer(int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine_); }
  std::mt19937_64& engine() { return engine_; }

 private:
  std::mt19937_64 engine_;
};

/// Constant, a step, a ramp, a sine or a square wave of at most `highest_w`.
inline fake_nvml::PowerShape random_shape(Random& random, double highest_w) {
  using fake_nvml::PowerShape;
  const double low_w = random.uniform(0.05, 0.4) * highest_w;
  const double high_w = random.uniform(0.5, 1.0) * highest_w;
  PowerShape shape;
  switch (random.integer(0, 4)) {
    case 0:
      shape.points = {{0.0, high_w}};
      break;
    case 1: {
      const double at_s = random.uniform(0.1, 3.0);
      shape.points = {{0.0, low_w}, {at_s, low_w}, {at_s, high_w}};
      break;
    }
    case 2:
      shape.points = {{0.0, low_w}, {random.uniform(0.5, 4.0), high_w}};
      break;
    case 3:
      shape.kind = PowerShape::Kind::kSine;
      shape.low_w = (high_w + low_w) / 2.0;
      shape.high_w = (high_w - low_w) / 2.0;
      break;
    default:
      shape.kind = PowerShape::Kind::kSquare;
      shape.low_w = low_w;
      shape.high_w = high_w;
      shape.duty = random.uniform(0.2, 0.8);
      break;
  }
  shape.period_s = random.log_uniform(0.01, 3.0);
  shape.offset_s = random.uniform(0.0, shape.period_s);
  return shape;
}

/// The line of a fake NVML's scenario that gives a device this power.
inline std::string scenario_line(const fake_nvml::PowerShape& shape) {
  using fake_nvml::PowerShape;
  switch (shape.kind) {
    case PowerShape::Kind::kSine:
      return fmt::format(
          "sine {} {} {} {}\n", shape.low_w, shape.high_w, shape.period_s, shape.offset_s);
    case PowerShape::Kind::kSquare:
      return fmt::format("square {} {} {} {} {}\n",
                         shape.low_w,
                         shape.high_w,
                         shape.period_s,
                         shape.duty,
                         shape.offset_s);
    case PowerShape::Kind::kLines:
      break;
  }
  std::string line = "power";
  for (const fake_nvml::CurvePoint& point : shape.points) {
    line += fmt::format(" {}:{}", point.time_s, point.power_w);
  }
  return line + "\n";
}

}  // namespace joulescale::testing
