// SPDX-License-Identifier: Apache-2.0
#include "joulescale/base/output.h"

namespace joulescale {

void print_text(std::FILE* stream, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stream);
  std::fflush(stream);
}

}  // namespace joulescale
