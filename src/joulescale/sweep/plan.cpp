// SPDX-License-Identifier: Apache-2.0
#include "joulescale/sweep/plan.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "joulescale/base/text.h"

namespace joulescale {
namespace {

std::string configuration_name(const Configuration& configuration) {
  const std::string accumulation = configuration.accumulation_steps == 1
                                       ? ""
                                       : fmt::format("-acc{}", configuration.accumulation_steps);
  return fmt::format("g{}-lbs{}{}-gbs{}",
                     configuration.devices,
                     configuration.local_batch_size,
                     accumulation,
                     configuration.global_batch_size());
}

/// Every {name} in `text` replaced by its value.
std::string replace_placeholders(std::string_view text,
                                 const std::map<std::string, std::string, std::less<>>& values) {
  std::string replaced;
  while (!text.empty()) {
    const std::size_t close = text.find('}');
    if (text.front() == '{' && close != std::string_view::npos) {
      const auto found = values.find(text.substr(1, close - 1));
      if (found != values.end()) {
        replaced += found->second;
        text.remove_prefix(close + 1);
        continue;
      }
    }
    replaced += text.front();
    text.remove_prefix(1);
  }
  return replaced;
}

std::vector<std::string> train_arguments(const StudySpec& spec, const PlannedRun& run) {
  std::vector<std::string> arguments;
  arguments.reserve(spec.workload.options.size() + 3);
  for (const WorkloadOption& option : spec.workload.options) {
    arguments.push_back(option.value ? fmt::format("--{}={}", option.name, *option.value)
                                     : fmt::format("--{}", option.name));
  }
  const Configuration& configuration = run.configuration;
  arguments.push_back(fmt::format("--local-batch-size={}", configuration.local_batch_size));
  if (configuration.accumulation_steps != 1) {
    arguments.push_back(fmt::format("--accumulation-steps={}", configuration.accumulation_steps));
  }
  arguments.push_back(fmt::format("--seed={}", run.seed));
  return arguments;
}

std::vector<std::string> command_arguments(const StudySpec& spec,
                                           const PlannedRun& run,
                                           const RunPaths& paths) {
  const Configuration& configuration = run.configuration;
  const std::map<std::string, std::string, std::less<>> values = {
      {"devices", std::to_string(configuration.devices)},
      {"local_batch_size", std::to_string(configuration.local_batch_size)},
      {"global_batch_size", std::to_string(configuration.global_batch_size())},
      {"accumulation_steps", std::to_string(configuration.accumulation_steps)},
      {"samples", std::to_string(spec.workload.samples.value_or(0))},
      {"seed", std::to_string(run.seed)},
      {"repetition", std::to_string(run.repetition)},
      {"run_dir", paths.run_directory}};
  std::vector<std::string> arguments;
  arguments.reserve(spec.workload.argv.size());
  for (const std::string& argument : spec.workload.argv) {
    arguments.push_back(replace_placeholders(argument, values));
  }
  return arguments;
}

std::vector<std::string> monitor_options(const MonitorSpec& monitor) {
  std::vector<std::string> options;
  const auto add_number = [&](const char* option, const std::optional<double>& value) {
    if (value) {
      options.push_back(option + format_double(*value));
    }
  };
  const auto add_text = [&](const char* option, const std::optional<std::string>& value) {
    if (value) {
      options.push_back(option + *value);
    }
  };
  add_number("--rate=", monitor.rate_hz);
  add_text("--baseline=", monitor.baseline);
  add_text("--root=", monitor.root);
  add_text("--nvml-library=", monitor.nvml_library);
  add_number("--cpu-thread-watts=", monitor.cpu_thread_watts);
  add_number("--ram-watts=", monitor.ram_watts);
  return options;
}

bool same_workload(const WorkloadSpec& a, const WorkloadSpec& b) {
  const auto same_option = [](const WorkloadOption& x, const WorkloadOption& y) {
    return x.name == y.name && x.value == y.value;
  };
  return a.kind == b.kind && a.argv == b.argv && a.samples == b.samples &&
         std::is_permutation(
             a.options.begin(), a.options.end(), b.options.begin(), b.options.end(), same_option);
}

bool same_monitor(const MonitorSpec& a, const MonitorSpec& b) {
  return monitor_options(a) == monitor_options(b);
}

}  // namespace

Plan make_plan(const StudySpec& spec) {
  Plan plan;
  std::vector<PlannedRun> distinct;
  for (const SeriesSpec& series : spec.series) {
    for (const Configuration& configuration : series.configurations) {
      const auto same = std::find_if(distinct.begin(), distinct.end(), [&](const PlannedRun& run) {
        return run.configuration == configuration;
      });
      if (same == distinct.end()) {
        distinct.push_back(
            {configuration_name(configuration), configuration, 0, 0, series.name, {}});
        continue;
      }
      same->more_series.push_back(series.name);
      plan.merged.push_back(fmt::format(
          "series '{}': {} is run once, with series '{}'", series.name, same->name, same->series));
    }
  }
  for (std::int64_t repetition = 0; repetition < spec.repetitions; ++repetition) {
    for (PlannedRun run : distinct) {
      run.name += fmt::format("-r{}", repetition);
      run.repetition = repetition;
      run.seed = spec.seed + repetition;
      plan.runs.push_back(std::move(run));
    }
  }
  return plan;
}

StudyRecord study_record(const StudySpec& spec, const PlannedRun& run) {
  StudyRecord record;
  record.name = spec.name;
  record.series = run.series;
  record.more_series = run.more_series;
  record.repetition = static_cast<int>(run.repetition);
  record.axes = {{"devices", run.configuration.devices},
                 {"local_batch_size", run.configuration.local_batch_size},
                 {"global_batch_size", run.configuration.global_batch_size()},
                 {"accumulation_steps", run.configuration.accumulation_steps}};
  return record;
}

std::vector<std::string> workload_arguments(const StudySpec& spec,
                                            const PlannedRun& run,
                                            const RunPaths& paths) {
  return spec.workload.kind == WorkloadKind::kTrain ? train_arguments(spec, run)
                                                    : command_arguments(spec, run, paths);
}

std::vector<std::string> run_command(const StudySpec& spec,
                                     const PlannedRun& run,
                                     const RunPaths& paths,
                                     const std::string& program) {
  const bool trains = spec.workload.kind == WorkloadKind::kTrain;
  std::vector<std::string> command = {program, trains ? "train" : "monitor"};
  if (trains) {
    command.push_back(fmt::format("--ranks={}", run.configuration.devices));
  }
  command.push_back("--output=" + paths.run_directory);
  command.push_back("--study=" + paths.study_record);
  for (std::string& option : monitor_options(spec.monitor)) {
    command.push_back(std::move(option));
  }
  if (!trains) {
    command.push_back("--");
  }
  for (std::string& argument : workload_arguments(spec, run, paths)) {
    command.push_back(std::move(argument));
  }
  return command;
}

std::string incompatible_change(const StudySpec& previous, const StudySpec& next) {
  if (previous.name != next.name) {
    return fmt::format("its name is '{}', not '{}'", previous.name, next.name);
  }
  if (previous.seed != next.seed) {
    return fmt::format("its seed is {}, not {}", previous.seed, next.seed);
  }
  if (!same_workload(previous.workload, next.workload)) {
    return "its [workload] is another";
  }
  if (!same_monitor(previous.monitor, next.monitor)) {
    return "its [monitor] is another";
  }
  const Plan before = make_plan(previous);
  const Plan after = make_plan(next);
  for (const PlannedRun& run : before.runs) {
    const bool kept = std::any_of(after.runs.begin(), after.runs.end(), [&](const auto& other) {
      return other.name == run.name;
    });
    if (!kept) {
      return fmt::format("its run {} is not in the new file", run.name);
    }
  }
  return "";
}

}  // namespace joulescale
