// SPDX-License-Identifier: Apache-2.0
// One line for a wrong command line: what is wrong, the nearest word that would be right, where to
// read on.
#pragma once

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
class ParseError;
}  // namespace CLI

namespace joulescale {

/// For an error that parsing with `app` threw. No newline at the end.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace joulescale
