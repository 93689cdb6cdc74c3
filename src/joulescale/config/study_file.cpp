// SPDX-License-Identifier: Apache-2.0
#include "joulescale/config/study_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "joulescale/base/file.h"
#include "joulescale/base/text.h"
#include "joulescale/config/toml_reader.h"
#include "joulescale/record/run_record.h"

namespace joulescale {
namespace {

using config::Bounds;
using config::printable;
using config::Problem;
using config::TableReader;

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 20;
constexpr Bounds kDevices{1, 1'000'000};
constexpr Bounds kBatchSize{1, 1'000'000'000};
constexpr Bounds kAccumulation{1, 1'000'000};
constexpr Bounds kRepetitions{1, 1'000};
constexpr Bounds kRetries{0, 100};
constexpr Bounds kSeed{0, 2'000'000'000};
constexpr Bounds kSamples{1, 1'000'000'000'000};
constexpr double kMinRateHz = 1.0;  // as joulescale monitor
constexpr double kMaxRateHz = 100.0;
constexpr double kMinWatts = 0.001;
constexpr double kMaxWatts = 1e6;
constexpr std::size_t kMaxRuns = 10'000;

/// Options of joulescale-train that the sweep itself gives.
constexpr std::array<std::string_view, 6> kOwnedOptions = {
    "ranks", "local-batch-size", "global-batch-size", "accumulation-steps", "seed", "output"};

/// What a placeholder in braces is made of.
constexpr std::string_view kWordLetters = "abcdefghijklmnopqrstuvwxyz_";

bool is_option_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  return !name.empty() && name.front() != '-' && std::all_of(name.begin(), name.end(), allowed);
}

/// The text after "--name=", nothing for `true`; false for a value that no option takes.
bool option_value(const toml::node& node, std::optional<std::string>& value) {
  if (const auto* text = node.as_string()) {
    value = text->get();
    return !text->get().empty() && text->get().find('\0') == std::string::npos;
  }
  if (const auto* integer = node.as_integer()) {
    value = std::to_string(integer->get());
    return true;
  }
  if (const auto* number = node.as_floating_point()) {
    value = format_double(number->get());
    return std::isfinite(number->get());
  }
  return node.is_boolean();
}

std::vector<WorkloadOption> read_options(const toml::table& table, Problem& problem) {
  std::vector<WorkloadOption> options;
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    const std::string path = fmt::format("workload.options.{}", printable(name));
    const int line = static_cast<int>(key.source().begin.line);
    if (!is_option_name(name)) {
      problem.report(
          nullptr,
          line,
          path,
          "not the name of an option; allowed: an option of joulescale-train without its dashes");
      continue;
    }
    if (std::find(kOwnedOptions.begin(), kOwnedOptions.end(), name) != kOwnedOptions.end()) {
      problem.report(nullptr,
                     line,
                     path,
                     "the sweep sets this option itself; use devices, local_batch_size, "
                     "global_batch_size and accumulation_steps of a series, and seed");
      continue;
    }
    WorkloadOption option{name, std::nullopt, line};
    if (!option_value(node, option.value)) {
      problem.report(
          &node,
          line,
          path,
          "allowed: a text that is not empty, a finite number, true (give it) or false (do not)");
    } else if (!node.is_boolean() || node.as_boolean()->get()) {
      options.push_back(std::move(option));
    }
  }
  std::sort(
      options.begin(), options.end(), [](const auto& a, const auto& b) { return a.line < b.line; });
  return options;
}

/// Every {word} of small letters must be a placeholder; other braces are the command's own.
void check_placeholders(const WorkloadSpec& workload, const TableReader& reader) {
  for (const std::string& argument : workload.argv) {
    for (std::size_t open = argument.find('{'); open != std::string::npos;
         open = argument.find('{', open + 1)) {
      const std::size_t close = argument.find_first_not_of(kWordLetters, open + 1);
      if (close == std::string::npos || argument[close] != '}' || close == open + 1) {
        continue;
      }
      const std::string word = argument.substr(open + 1, close - open - 1);
      if (std::find(std::begin(kPlaceholders), std::end(kPlaceholders), word) ==
          std::end(kPlaceholders)) {
        reader.fail("argv",
                    fmt::format("unknown placeholder '{{{}}}'; allowed: {{{}}}",
                                printable(word),
                                fmt::join(kPlaceholders, "}, {")));
      } else if (word == "samples" && !workload.samples) {
        reader.fail("argv", "'{samples}' needs the key workload.samples");
      }
    }
  }
}

WorkloadSpec read_workload(const toml::table& table, Problem& problem) {
  const TableReader reader(table, "workload", {"kind", "options", "argv", "samples"}, problem);
  WorkloadSpec workload;
  workload.line = reader.line();
  const std::string kind = reader.text("kind").value_or("train");
  if (kind == "train") {
    for (const char* key : {"argv", "samples"}) {
      if (reader.has(key)) {
        reader.fail(key, "only for kind = \"command\"");
      }
    }
    if (const toml::table* options = reader.table("options")) {
      workload.options = read_options(*options, problem);
    }
  } else if (kind == "command") {
    workload.kind = WorkloadKind::kCommand;
    if (reader.has("options")) {
      reader.fail("options", "only for kind = \"train\"");
    }
    if (!reader.has("argv")) {
      reader.fail("argv", "missing; allowed: a list of texts, the program and its arguments");
    }
    workload.argv = reader.texts("argv");
    workload.samples = reader.integer("samples", kSamples);
    check_placeholders(workload, reader);
  } else {
    reader.fail("kind", fmt::format("'{}' is unknown; allowed: train, command", printable(kind)));
  }
  return workload;
}

LauncherSpec read_launcher(const toml::table& table, Problem& problem) {
  const TableReader reader(table, "launcher", {"kind"}, problem);
  LauncherSpec launcher;
  launcher.kind = reader.text("kind").value_or(launcher.kind);
  if (launcher.kind != "local") {
    reader.fail("kind", fmt::format("'{}' is unknown; allowed: local", printable(launcher.kind)));
  }
  return launcher;
}

MonitorSpec read_monitor(const toml::table& table, Problem& problem) {
  const TableReader reader(
      table,
      "monitor",
      {"rate", "baseline", "root", "nvml_library", "cpu_thread_watts", "ram_watts"},
      problem);
  MonitorSpec monitor;
  monitor.rate_hz = reader.number("rate", kMinRateHz, kMaxRateHz);
  monitor.baseline = reader.text("baseline");
  if (monitor.baseline && !parse_baseline_length(*monitor.baseline)) {
    reader.fail(
        "baseline",
        fmt::format(
            "'{}' is not allowed; allowed: {}", printable(*monitor.baseline), kBaselineLengths));
  }
  monitor.root = reader.text("root");
  monitor.nvml_library = reader.text("nvml_library");
  monitor.cpu_thread_watts = reader.number("cpu_thread_watts", kMinWatts, kMaxWatts);
  monitor.ram_watts = reader.number("ram_watts", kMinWatts, kMaxWatts);
  return monitor;
}

std::vector<Configuration> configurations_of_local(const std::vector<std::int64_t>& devices,
                                                   const std::vector<std::int64_t>& local_sizes,
                                                   std::int64_t accumulation,
                                                   const TableReader& reader) {
  std::vector<Configuration> configurations;
  for (const std::int64_t local_size : local_sizes) {
    for (const std::int64_t count : devices) {
      // No factor is above 1e9, so a product of two cannot overflow.
      if (count * accumulation > kBatchSize.high / local_size) {
        reader.fail("local_batch_size",
                    fmt::format("{} on {} devices with {} accumulation steps is a global batch "
                                "size above {}",
                                local_size,
                                count,
                                accumulation,
                                kBatchSize.high));
        return configurations;
      }
      configurations.push_back({count, local_size, accumulation});
    }
  }
  return configurations;
}

std::vector<Configuration> configurations_of_global(const std::vector<std::int64_t>& devices,
                                                    const std::vector<std::int64_t>& global_sizes,
                                                    std::int64_t accumulation,
                                                    const TableReader& reader) {
  std::vector<Configuration> configurations;
  for (const std::int64_t global_size : global_sizes) {
    for (const std::int64_t count : devices) {
      const std::int64_t parts = count * accumulation;
      if (global_size % parts != 0) {
        reader.fail("global_batch_size",
                    fmt::format("{} is not divisible by {} devices x {} accumulation steps",
                                global_size,
                                count,
                                accumulation));
        return configurations;
      }
      configurations.push_back({count, global_size / parts, accumulation});
    }
  }
  return configurations;
}

SeriesSpec read_series(const toml::table& table, Problem& problem) {
  const TableReader reader(
      table,
      "series",
      {"name", "devices", "local_batch_size", "global_batch_size", "accumulation_steps"},
      problem);
  SeriesSpec series;
  series.line = reader.line();
  series.name = reader.required_name("name");
  if (!reader.has("devices")) {
    reader.fail("devices", "missing; allowed: a whole number or a list, such as [1, 2, 4]");
  }
  const auto devices = reader.integers("devices", kDevices);
  const auto accumulation = reader.integer("accumulation_steps", kAccumulation).value_or(1);
  const auto local_sizes = reader.integers("local_batch_size", kBatchSize);
  const auto global_sizes = reader.integers("global_batch_size", kBatchSize);
  if (reader.has("local_batch_size") == reader.has("global_batch_size")) {
    reader.fail("local_batch_size", "give exactly one of local_batch_size and global_batch_size");
  }
  if (problem.found()) {
    return series;
  }
  series.configurations =
      local_sizes.empty() ? configurations_of_global(devices, global_sizes, accumulation, reader)
                          : configurations_of_local(devices, local_sizes, accumulation, reader);
  return series;
}

std::vector<SeriesSpec> read_all_series(const TableReader& root, Problem& problem) {
  std::vector<SeriesSpec> all;
  const toml::node* node = root.find("series");
  const toml::array* list = node == nullptr ? nullptr : node->as_array();
  if (list == nullptr || list->empty() || !list->is_homogeneous<toml::table>()) {
    root.fail("series", "missing or not a list of tables; write [[series]] for each series");
    return all;
  }
  std::set<std::string> names;
  for (const toml::node& item : *list) {
    SeriesSpec series = read_series(*item.as_table(), problem);
    if (!problem.found() && !names.insert(series.name).second) {
      problem.report(item.as_table()->get("name"),
                     series.line,
                     "series.name",
                     fmt::format("'{}' is there twice; allowed: each name once", series.name));
    }
    all.push_back(std::move(series));
  }
  return all;
}

void check_number_of_runs(const StudySpec& spec, const TableReader& root) {
  std::set<Configuration> configurations;
  for (const SeriesSpec& series : spec.series) {
    configurations.insert(series.configurations.begin(), series.configurations.end());
  }
  const std::size_t runs = configurations.size() * static_cast<std::size_t>(spec.repetitions);
  if (runs > kMaxRuns) {
    root.fail("series", fmt::format("the study has {} runs; allowed: at most {}", runs, kMaxRuns));
  }
}

StudySpec read_spec(const toml::table& table, Problem& problem) {
  const TableReader root(table,
                         "",
                         {"schema",
                          "name",
                          "repetitions",
                          "seed",
                          "retries",
                          "workload",
                          "launcher",
                          "monitor",
                          "series"},
                         problem);
  StudySpec spec;
  const auto schema = root.text("schema");
  if (!root.has("schema")) {
    root.fail("schema", fmt::format("missing; write schema = \"{}\"", kStudySchema));
  } else if (schema && *schema != kStudySchema) {
    root.fail("schema",
              fmt::format("'{}' is unknown; allowed: {}", printable(*schema), kStudySchema));
  }
  spec.name = root.required_name("name");
  spec.repetitions = root.integer("repetitions", kRepetitions).value_or(spec.repetitions);
  spec.seed = root.integer("seed", kSeed).value_or(spec.seed);
  spec.retries = root.integer("retries", kRetries).value_or(spec.retries);
  if (const toml::table* workload = root.table("workload")) {
    spec.workload = read_workload(*workload, problem);
  } else {
    root.fail("workload", "missing; write [workload] with kind = \"train\" or \"command\"");
  }
  if (const toml::table* launcher = root.table("launcher")) {
    spec.launcher = read_launcher(*launcher, problem);
  }
  if (const toml::table* monitor = root.table("monitor")) {
    spec.monitor = read_monitor(*monitor, problem);
  }
  spec.series = read_all_series(root, problem);
  check_number_of_runs(spec, root);
  return spec;
}

/// The parser goes into itself once for each part of a dotted key: a line of a hundred thousand
/// would end the program. 0 for none.
int line_with_too_many_dots(std::string_view text) {
  constexpr int kMostDots = 1000;
  int line = 1;
  int dots = 0;
  for (const char c : text) {
    dots += c == '.' ? 1 : 0;
    if (dots > kMostDots) {
      return line;
    }
    if (c == '\n') {
      ++line;
      dots = 0;
    }
  }
  return 0;
}

}  // namespace

Result<StudySpec> parse_study(std::string_view text, std::string_view file_name) {
  Problem problem(file_name);
  if (const int line = line_with_too_many_dots(text); line > 0) {
    problem.report(nullptr, line, "", "tables inside tables, deeper than any study has");
    return Error(ErrorCode::kConfig, problem.text());
  }
  try {
    const toml::table table = toml::parse(text, file_name);
    StudySpec spec = read_spec(table, problem);
    if (!problem.found()) {
      return spec;
    }
  } catch (const toml::parse_error& error) {
    problem.report(nullptr,
                   static_cast<int>(error.source().begin.line),
                   "",
                   fmt::format("not TOML: {}", printable(error.description())));
  }
  return Error(ErrorCode::kConfig, problem.text());
}

Result<StudySpec> read_study(const std::filesystem::path& file) {
  const auto text = read_file(file, kMaxFileBytes);
  if (!text) {
    return Error(ErrorCode::kConfig, fmt::format("study file: {}", text.error().text()));
  }
  return parse_study(*text, file.native());
}

}  // namespace joulescale
