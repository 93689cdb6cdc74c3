// SPDX-License-Identifier: Apache-2.0
// The networks known by name. Free of torch.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "joulescale/base/error.h"

namespace joulescale {

struct ModelSpec {
  std::string name;
  int in_channels = 3;
  int num_classes = 10;
};

/// "resnet8" … "resnet152".
std::span<const std::string_view> model_names();

/// Error (kInvalidArgument) names the nearest model.
Result<void> check_model(std::string_view name);

}  // namespace joulescale
