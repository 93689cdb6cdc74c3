// SPDX-License-Identifier: Apache-2.0
// toml++ as a static library, from its headers alone.
#define TOML_IMPLEMENTATION
#include <toml++/toml.h>
