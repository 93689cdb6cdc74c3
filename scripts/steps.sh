# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by the project's commands: runs one step of a set-up, says what it does and how long it took,
# keeps its output in build/logs and shows the end of it with a remedy when the step fails.

# step TITLE REMEDY COMMAND…
step() {
  local title=$1 remedy=$2 log started=$SECONDS
  shift 2
  mkdir -p build/logs
  log=build/logs/$(printf '%s' "$title" | tr -cs '[:alnum:]' '-').log
  printf '==> %s ...\n' "$title" >&2
  if ("$@") >"$log" 2>&1; then
    printf '    done in %d s\n' $((SECONDS - started)) >&2
  else
    printf '    FAILED after %d s; the end of %s:\n' $((SECONDS - started)) "$log" >&2
    tail -n 25 "$log" >&2
    printf '    What to do: %s.\n' "$remedy" >&2
    exit 1
  fi
}
