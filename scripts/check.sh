#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks of the sources that need no run of the program:
#   scripts/check.sh format          clang-format on all C++ files
#   scripts/check.sh layers          who includes and links whom (docs/architecture.md)
#   scripts/check.sh shell           shellcheck on all scripts
#   scripts/check.sh tidy-changed    clang-tidy on torch-free C++ files changed by the last commit or since
#   scripts/check.sh tidy-all        clang-tidy on all torch-free C++ files
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/steps.sh

cpp_files() { git ls-files --cached --others --exclude-standard '*.h' '*.cpp' '*.c'; }

format() { cpp_files | xargs clang-format-19 --dry-run --Werror; }

layers() { scripts/check-layers; }

shell() {
  git ls-files | while read -r file; do
    if head -n 1 "$file" | grep -q '^#!.*bash' || [[ $file == *.sh ]]; then echo "$file"; fi
  done | xargs shellcheck -x
}

# tidy_on FILE-LIST: of these, the ones that the torch-free build compiles
tidy_on() {
  local files
  cmake --preset minimal >/dev/null
  files=$(while read -r file; do
    if [[ $file == *.cpp ]] && grep -q "\"$PWD/$file\"" build/minimal/compile_commands.json; then echo "$file"; fi
  done <<<"$1")
  if [ -n "$files" ]; then xargs -P "$(nproc)" -n 4 clang-tidy-19 -p build/minimal --quiet --extra-arg=-Wno-unknown-warning-option <<<"$files"; fi
}

tidy-all() { tidy_on "$(cpp_files)"; }

tidy-changed() {
  if ! git rev-parse -q --verify HEAD~1 >/dev/null; then
    tidy-all
    return
  fi
  tidy_on "$(git diff --name-only --diff-filter=d HEAD~1; git ls-files --others --exclude-standard)"
}

what=${1:-}
case $what in format | layers | shell | tidy-changed | tidy-all) ;; *)
  sed -n '3,8s/^# //p' "$0" >&2
  exit 2
  ;;
esac
step "Check $what" "mend what it names ('clang-format-19 -i FILE' formats a file)" "$what"
