// SPDX-License-Identifier: Apache-2.0
// How often a text holds another one.
#pragma once

#include <cstddef>
#include <string>

namespace joulescale::testing {

inline std::size_t count_of(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    ++count;
  }
  return count;
}

}  // namespace joulescale::testing
