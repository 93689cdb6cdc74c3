// SPDX-License-Identifier: Apache-2.0
#include "joulescale/train/schedule.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace joulescale {
namespace {

constexpr double kOneCycleStartDivisor = 25.0;
constexpr double kOneCycleEndDivisor = 1e4;  // of the start rate

/// Half a cosine from `from` (fraction 0) to `to` (fraction 1).
double cosine_between(double from, double to, double fraction) {
  const double x = std::clamp(fraction, 0.0, 1.0);
  return to + (from - to) * 0.5 * (1.0 + std::cos(std::numbers::pi * x));
}

double one_cycle(const ScheduleOptions& schedule, double update) {
  const double start = schedule.peak / kOneCycleStartDivisor;
  const double end = start / kOneCycleEndDivisor;
  const double last = static_cast<double>(schedule.updates - 1);
  const double top =
      std::max(0.0, schedule.warmup_fraction * static_cast<double>(schedule.updates) - 1.0);
  if (update < top) {
    return cosine_between(start, schedule.peak, update / top);
  }
  return last > top ? cosine_between(schedule.peak, end, (update - top) / (last - top))
                    : schedule.peak;
}

double cosine(const ScheduleOptions& schedule, double update) {
  const double updates = static_cast<double>(schedule.updates);
  const double warmup = std::floor(schedule.warmup_fraction * updates);
  if (update < warmup) {
    return schedule.peak * (update + 1.0) / warmup;
  }
  return cosine_between(schedule.peak, 0.0, (update - warmup) / (updates - warmup));
}

}  // namespace

std::optional<ScheduleKind> schedule_from_name(std::string_view name) {
  constexpr std::array kKinds = {
      ScheduleKind::kConstant, ScheduleKind::kCosine, ScheduleKind::kOneCycle};
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (kScheduleNames[i] == name) {
      return kKinds[i];
    }
  }
  return std::nullopt;
}

double learning_rate_at(const ScheduleOptions& schedule, std::int64_t update) {
  switch (schedule.kind) {
    case ScheduleKind::kConstant:
      break;
    case ScheduleKind::kCosine:
      return cosine(schedule, static_cast<double>(update));
    case ScheduleKind::kOneCycle:
      return one_cycle(schedule, static_cast<double>(update));
  }
  return schedule.peak;
}

double peak_learning_rate(double base,
                          std::int64_t global_batch_size,
                          std::int64_t reference_batch,
                          double cap) {
  const double scaled = reference_batch == 0 ? base
                                             : base * static_cast<double>(global_batch_size) /
                                                   static_cast<double>(reference_batch);
  return cap == 0.0 ? scaled : std::min(scaled, cap);
}

}  // namespace joulescale
