// SPDX-License-Identifier: Apache-2.0
// Text for people and pipes.
#pragma once

#include <cstdio>
#include <string_view>

namespace joulescale {

/// Writes the text and hands it to the kernel. A stream that takes nothing (a closed pipe, a full
/// disk) loses the text and no more: what a program says must not decide how it ends. A program
/// whose result is its output asks std::ferror() at the end. Thread safe.
void print_text(std::FILE* stream, std::string_view text);

}  // namespace joulescale
