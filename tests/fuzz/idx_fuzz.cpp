// SPDX-License-Identifier: Apache-2.0
// IDX files: any bytes give an array that fits its dimensions, or are refused.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "joulescale/data/idx.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto array = joulescale::parse_idx({reinterpret_cast<const char*>(data), size});
  if (array) {
    std::size_t count = 1;
    for (const std::uint32_t dimension : array->dimensions) {
      count *= dimension;
    }
    if (count != array->values.size()) {
      std::abort();
    }
  }
  return 0;
}
