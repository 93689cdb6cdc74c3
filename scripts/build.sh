#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Configures and builds one preset of CMakePresets.json:
#   scripts/build.sh PRESET [TARGET…]
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/steps.sh

preset=${1:?usage: scripts/build.sh PRESET [TARGET…]}
shift
step "Configure the $preset build" "read the message above; scripts/bootstrap.sh installs what is missing" \
  cmake --preset "$preset"
step "Build ${*:-everything} ($preset)" "read the compiler's message above; 4 GB of memory are needed" \
  cmake --build --preset "$preset" ${1:+--target "$@"}
