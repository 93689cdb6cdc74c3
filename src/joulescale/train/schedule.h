// SPDX-License-Identifier: Apache-2.0
// The learning rate as a closed formula of the update number: no state, so that a resumed run has
// the rates of an unbroken one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace joulescale {

enum class ScheduleKind {
  kConstant,  // the peak rate throughout
  kCosine,    // linear from 1/warm-up updates of the peak to the peak, then half a cosine to 0
  kOneCycle,  // half a cosine from peak / 25 to the peak, then one to peak / 250,000: the defaults
              // of PyTorch's OneCycleLR (Smith, Topin 2017, "Super-Convergence")
};

inline constexpr std::array<std::string_view, 3> kScheduleNames = {
    "constant", "cosine", "one-cycle"};
std::optional<ScheduleKind> schedule_from_name(std::string_view name);

struct ScheduleOptions {
  ScheduleKind kind = ScheduleKind::kOneCycle;
  double peak = 0.1;
  double warmup_fraction = 0.3;  // of the updates
  std::int64_t updates = 1;      // of the whole run
};

/// Rate of update 0, 1, …, updates - 1.
double learning_rate_at(const ScheduleOptions& schedule, std::int64_t update);

/// base * batch / reference_batch (Goyal et al. 2017, the linear scaling rule), at most `cap`.
/// reference_batch 0: not scaled; cap 0: no limit.
double peak_learning_rate(double base,
                          std::int64_t global_batch_size,
                          std::int64_t reference_batch,
                          double cap);

}  // namespace joulescale
