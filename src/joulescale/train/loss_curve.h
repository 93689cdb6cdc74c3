// SPDX-License-Identifier: Apache-2.0
// The loss of every update, and its file.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace joulescale {

struct CurvePoint {
  std::int64_t epoch = 0;    // from 0
  std::int64_t update = 0;   // from 0, over the whole run
  std::int64_t samples = 0;  // of this update, all ranks
  double learning_rate = 0.0;
  double loss = 0.0;  // mean over the samples; may be NaN or infinite
};

/// CSV with a header line; numbers in the shortest form that reads back alike. A loss that is not
/// finite is an empty field.
std::string format_loss_curve(std::span<const CurvePoint> curve);

/// Mean loss of an epoch, every sample weighing the same; nothing if it is not finite.
std::optional<double> mean_loss(std::span<const CurvePoint> curve, std::int64_t epoch);

/// The first update whose loss is not finite.
std::optional<std::int64_t> diverged_at(std::span<const CurvePoint> curve);

}  // namespace joulescale
