// SPDX-License-Identifier: Apache-2.0
// What a monitor tells its user, without ever waiting long for who reads it.
#pragma once

#include <string>
#include <string_view>

namespace joulescale {

/// Writes to standard error. A pipe or terminal that takes nothing is waited for until a signal
/// asks to end, and for ten seconds at most; then this text and, where it stays so, later ones are
/// lost: the record is on disk, and a monitor must not outlive its command for want of a reader.
/// Thread safe.
void tell(std::string_view text);

/// The same for a line of text: "joulescale monitor: LINE".
void say(const std::string& line);

}  // namespace joulescale
