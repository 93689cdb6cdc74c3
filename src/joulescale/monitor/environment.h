// SPDX-License-Identifier: Apache-2.0
// The environment of the monitor, and which of its variables the record may hold.
#pragma once

#include <map>
#include <string>

namespace joulescale {

using EnvironmentMap = std::map<std::string, std::string>;

/// Out of "NAME=value" texts ended by null, such as `environ`.
EnvironmentMap read_environment(const char* const* variables);

/// Those that the record may hold: an allow-list of names and prefixes, without any name that looks
/// like a secret (TOKEN, JWT, KEY, SECRET, PASS, CRED, AUTH, COOKIE).
EnvironmentMap recordable_environment(const EnvironmentMap& environment);

}  // namespace joulescale
