# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by ./test and ./soak: their steps, and the count of what passed, failed and was skipped.
. scripts/steps.sh

passed=0 failed=0 skipped=0
trap 'printf "%d passed, %d failed, %d skipped\n" "$passed" "$failed" "$skipped"' EXIT

count_pass() { passed=$((passed + 1)); }
count_failure() {
  failed=$((failed + 1))
  printf 'FAILED: %s\n' "$1" >&2
}

# Ends the run with a failure: for steps without which nothing else can run.
give_up() {
  count_failure "$1"
  exit 1
}

prepare() { scripts/bootstrap.sh "$1" || give_up "set-up"; }

# check_sources changed|all: format, layers, shell scripts; clang-tidy on changed files or on all
check_sources() {
  local check
  for check in format layers shell "tidy-$1"; do
    if scripts/check.sh "$check"; then count_pass; else count_failure "scripts/check.sh $check"; fi
  done
}

check_headers() {
  if scripts/build.sh "$1" all_verify_interface_header_sets; then count_pass; else count_failure "headers compile alone"; fi
}

# run_preset PRESET [TESTS]: builds it and runs its tests; or all of it, and those of the test preset TESTS
run_preset() {
  local preset=$1 tests=${2:-$1} junit total bad skips started=$SECONDS
  scripts/build.sh "$preset" ${2:+all} || { count_failure "build of $preset"; return; }
  mkdir -p build/logs
  junit=$PWD/build/logs/$preset.junit.xml
  rm -f "$junit"
  echo "==> Run the tests of $preset ..." >&2
  ctest --preset "$tests" -j "$(nproc)" --output-junit "$junit" >"build/logs/$preset.tests.log" 2>&1
  if [ ! -s "$junit" ]; then
    tail -n 40 "build/logs/$preset.tests.log" >&2
    count_failure "tests of $preset could not be run"
    return
  fi
  total=$(junit_count tests) bad=$(junit_count failures) skips=$(($(junit_count skipped) + $(junit_count disabled)))
  passed=$((passed + total - bad - skips)) failed=$((failed + bad)) skipped=$((skipped + skips))
  printf '    %s: %d passed, %d failed, %d skipped in %d s\n' \
    "$preset" $((total - bad - skips)) "$bad" "$skips" $((SECONDS - started)) >&2
  if [ "$bad" != 0 ]; then
    sed -n '/% tests passed/,$p' "build/logs/$preset.tests.log" >&2
    echo "    Their output: build/logs/$preset.tests.log" >&2
  fi
  grep -h -o 'Skipped: .*' "build/logs/$preset.tests.log" | sort -u | sed 's/^/    /' >&2
}

# junit_count ATTRIBUTE: of the first element of $junit
junit_count() {
  local value
  value=$(grep -m 1 -o "$1=\"[0-9]*\"" "$junit" | tr -cd '0-9')
  echo "${value:-0}"
}

# run_fuzzers PRESET INPUTS [SEED]: each fuzzer of a build with libFuzzer; without a seed, other inputs every time
run_fuzzers() {
  local preset=$1 inputs=$2 seed=${3:-0} fuzzer name log
  for fuzzer in "build/$preset"/fuzz/*_fuzz; do
    name=$(basename "$fuzzer") log=build/logs/$name.log
    mkdir -p build/logs "build/$preset/corpus/$name"
    echo "==> Fuzz $name with $inputs inputs ..." >&2
    if "$fuzzer" -runs="$inputs" -seed="$seed" -max_len=4096 -timeout=20 -rss_limit_mb=4096 -print_final_stats=1 \
      -artifact_prefix="build/logs/$name-" "build/$preset/corpus/$name" "tests/fuzz/corpus/$name" >"$log" 2>&1; then
      count_pass
    else
      tail -n 20 "$log" >&2
      count_failure "$name (its log: $log)"
    fi
  done
}

finish() { [ "$failed" = 0 ] && [ "$passed" -gt 0 ]; exit; }
