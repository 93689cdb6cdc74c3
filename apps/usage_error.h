// SPDX-License-Identifier: Apache-2.0
// One line for a wrong command line: what is wrong, the nearest word that would be right, where to
// read on.
#pragma once

#include <span>
#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace joulescale {

/// For an error that parsing with `app` threw. No newline at the end.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error);

/// CLI11 takes the next argument as the value of an option that is written with none ("--root="),
/// and an empty value for none: the line that says so; empty if there is no such option.
std::string empty_option(std::span<const std::string> arguments);

}  // namespace joulescale
