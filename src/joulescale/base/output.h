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

/// Puts /dev/null in place of closed standard streams, so that no file that is opened later is
/// taken for one of them; children find them closed as they were. First thing in main().
void keep_standard_streams();

}  // namespace joulescale
