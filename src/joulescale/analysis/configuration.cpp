// SPDX-License-Identifier: Apache-2.0
#include "joulescale/analysis/configuration.h"

#include <fmt/format.h>

namespace joulescale {

std::string describe(const ConfigurationKey& key) {
  std::string text =
      fmt::format("{} {}", key.num_devices, key.num_devices == 1 ? "device" : "devices");
  if (key.local_batch_size) {
    text += fmt::format(", LBS {}", *key.local_batch_size);
  }
  if (key.global_batch_size) {
    text += fmt::format(", GBS {}", *key.global_batch_size);
  }
  if (key.accumulation_steps.value_or(1) != 1) {
    text += fmt::format(", {} accumulation steps", *key.accumulation_steps);
  }
  return text;
}

}  // namespace joulescale
