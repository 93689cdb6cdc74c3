// SPDX-License-Identifier: Apache-2.0
#include "joulescale/models/catalogue.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "joulescale/base/text.h"

namespace joulescale {
namespace {

constexpr std::array<std::string_view, 12> kNames = {
    "resnet8",
    "resnet14",
    "resnet20",
    "resnet32",
    "resnet44",
    "resnet56",
    "resnet110",
    "resnet18",
    "resnet34",
    "resnet50",
    "resnet101",
    "resnet152",
};

}  // namespace

std::span<const std::string_view> model_names() { return kNames; }

Result<void> check_model(std::string_view name) {
  if (std::ranges::find(kNames, name) != kNames.end()) {
    return {};
  }
  const auto nearest = nearest_name(name, kNames);
  return Error(ErrorCode::kInvalidArgument,
               fmt::format("unknown model '{}'{} (known: {})",
                           name,
                           nearest ? fmt::format("; did you mean {}?", *nearest) : "",
                           fmt::join(kNames, ", ")));
}

}  // namespace joulescale
