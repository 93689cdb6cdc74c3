// SPDX-License-Identifier: Apache-2.0
// bench_measure: the measurements of bench/monitor, one a call.
//   bench_measure wall --pairs N --limit S -- BASE... --- TOOL...
//   bench_measure slowdown --pairs N --limit S --result FILE -- BASE... --- TOOL...
//   bench_measure use --seconds S --from S --limit S -- TOOL...   (TOOL wraps "bench_measure idle
//   S") bench_measure idle S bench_measure spin --work MILLIONS --result FILE bench_measure timer
//   --rate HZ --seconds S
// "@N@" in an argument of BASE and TOOL becomes the number of the run.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/measure/commands.h"

namespace bench {
namespace {

Options parse(std::vector<std::string> arguments) {
  Options options;
  const auto commands = std::ranges::find(arguments, "--");
  for (auto word = arguments.begin(); word < commands; word += 2) {
    if (word + 1 >= commands) {
      fail("bench_measure: no value for " + *word);
    }
    const std::string& value = *(word + 1);
    if (*word == "--pairs") {
      options.pairs = std::strtol(value.c_str(), nullptr, 10);
    } else if (*word == "--seconds") {
      options.seconds = std::strtod(value.c_str(), nullptr);
    } else if (*word == "--rate") {
      options.rate_hz = std::strtod(value.c_str(), nullptr);
    } else if (*word == "--from") {
      options.from_s = std::strtod(value.c_str(), nullptr);
    } else if (*word == "--limit") {
      options.limit_s = std::strtod(value.c_str(), nullptr);
    } else if (*word == "--work") {
      options.work = std::strtol(value.c_str(), nullptr, 10);
    } else if (*word == "--result") {
      options.result_file = value;
    } else {
      fail("bench_measure: unknown option " + *word);
    }
  }
  if (commands != arguments.end()) {
    const auto between = std::find(commands, arguments.end(), "---");
    Command first(commands + 1, between);
    if (between == arguments.end()) {
      options.tool = std::move(first);
    } else {
      options.base = std::move(first);
      options.tool.assign(between + 1, arguments.end());
    }
  }
  return options;
}

int run(std::vector<std::string> arguments) {
  if (arguments.empty()) {
    fail("bench_measure: wall, slowdown, use, idle, spin or timer?");
  }
  const std::string what = arguments.front();
  arguments.erase(arguments.begin());
  if (what == "idle" && arguments.size() == 1) {
    ::usleep(static_cast<useconds_t>(std::strtod(arguments.front().c_str(), nullptr) * 1e6));
    return 0;
  }
  const Options options = parse(std::move(arguments));
  const bool has_pair = !options.base.empty() && !options.tool.empty() && options.pairs > 0;
  if (what == "wall" && has_pair) {
    wall(options);
  } else if (what == "slowdown" && has_pair) {
    slowdown(options);
  } else if (what == "use" && !options.tool.empty()) {
    use(options);
  } else if (what == "spin" && !options.result_file.empty()) {
    spin(options);
  } else if (what == "timer" && options.rate_hz > 0.0) {
    timer(options);
  } else {
    fail("bench_measure: wrong use, see bench/measure/main.cpp");
  }
  return 0;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  return bench::run(std::vector<std::string>(argv + 1, argv + std::max(argc, 1)));
}
