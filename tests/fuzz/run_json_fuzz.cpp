// SPDX-License-Identifier: Apache-2.0
// run.json: any bytes parse or are refused; what parses is written and read back alike.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "joulescale/record/run_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto run = joulescale::parse_run_record({reinterpret_cast<const char*>(data), size});
  if (run) {
    const std::string text = joulescale::format_run_record(*run);
    const auto again = joulescale::parse_run_record(text);
    if (!again || joulescale::format_run_record(*again) != text) {
      std::abort();
    }
  }
  return 0;
}
