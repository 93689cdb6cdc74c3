// SPDX-License-Identifier: Apache-2.0
#include "joulescale/train/loss_curve.h"

#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "joulescale/base/text.h"

namespace joulescale {

std::string format_loss_curve(std::span<const CurvePoint> curve) {
  std::string text = "epoch,update,samples,learning_rate,loss\n";
  for (const CurvePoint& point : curve) {
    fmt::format_to(std::back_inserter(text),
                   "{},{},{},{},{}\n",
                   point.epoch,
                   point.update,
                   point.samples,
                   format_double(point.learning_rate),
                   std::isfinite(point.loss) ? format_double(point.loss) : "");
  }
  return text;
}

std::optional<double> mean_loss(std::span<const CurvePoint> curve, std::int64_t epoch) {
  double sum = 0.0;
  std::int64_t samples = 0;
  for (const CurvePoint& point : curve) {
    if (point.epoch == epoch) {
      sum += point.loss * static_cast<double>(point.samples);
      samples += point.samples;
    }
  }
  if (samples == 0 || !std::isfinite(sum)) {
    return std::nullopt;
  }
  return sum / static_cast<double>(samples);
}

std::optional<std::int64_t> diverged_at(std::span<const CurvePoint> curve) {
  for (const CurvePoint& point : curve) {
    if (!std::isfinite(point.loss)) {
      return point.update;
    }
  }
  return std::nullopt;
}

}  // namespace joulescale
