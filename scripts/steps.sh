# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by the project's commands: runs one step of a set-up, says what it does and how long it took,
# keeps its output in build/logs and shows the end of it with a remedy when the step fails.

# While this shell lives, says every half minute how far a build has come, as its log tells ("[45/264] ...").
show_progress() {
  local log=$1 started=$SECONDS count
  while kill -0 $$ 2>/dev/null; do
    sleep 5 >/dev/null 2>&1
    (((SECONDS - started) % 30 < 5)) || continue
    count=$(tail -n 1 "$log" 2>/dev/null | grep -o '^\[[0-9]*/[0-9]*\]' || true)
    [ -z "$count" ] || printf '    %s after %d s\n' "$count" $((SECONDS - started)) >&2
  done
}

# step TITLE REMEDY COMMAND…
step() {
  local title=$1 remedy=$2 log watcher="" status=0 started=$SECONDS
  shift 2
  mkdir -p build/logs
  log=build/logs/$(printf '%s' "$title" | tr -cs '[:alnum:]' '-').log
  printf '==> %s ...\n' "$title" >&2
  case $title in Build*) show_progress "$log" & watcher=$! ;; esac
  ("$@") >"$log" 2>&1 || status=$?
  if [ -n "$watcher" ]; then
    kill "$watcher" 2>/dev/null || true
    wait "$watcher" 2>/dev/null || true
  fi
  if [ "$status" = 0 ]; then
    printf '    done in %d s\n' $((SECONDS - started)) >&2
  else
    printf '    FAILED after %d s; the end of %s:\n' $((SECONDS - started)) "$log" >&2
    tail -n 25 "$log" >&2
    printf '    What to do: %s.\n' "$remedy" >&2
    exit 1
  fi
}
