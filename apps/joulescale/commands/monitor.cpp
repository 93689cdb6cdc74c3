// SPDX-License-Identifier: Apache-2.0
// joulescale monitor -- CMD...: runs any command and measures the node meanwhile.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "joulescale/base/file.h"
#include "joulescale/base/output.h"
#include "joulescale/monitor/run_monitor.h"
#include "joulescale/monitor/signals.h"
#include "joulescale/record/run_json.h"

#include "apps/joulescale/commands/commands.h"
#include "apps/validators.h"

namespace joulescale {
namespace {

constexpr const char* kMonitorExample =
    "Example: joulescale monitor --output runs/mine -- python train.py --epochs 3\n"
    "Everything after -- is the command; its exit status is returned, its standard output is left\n"
    "alone. The record is DIR/run.json, the summary goes to standard error.";

constexpr double kMebibyte = 1 << 20;

struct MonitorArguments {
  MonitorOptions options;
  std::string study_file;
  std::string require;
  std::string devices = "visible";
  std::optional<std::string> baseline;
  double cpu_thread_watts = EstimateOptions().cpu_thread_active.value();
  double ram_watts = 0.0;  // 0: not given
  double journal_mib = static_cast<double>(JournalLimits().budget_bytes) / kMebibyte;
};

int fail(const Error& error) {
  print_text(stderr, fmt::format("joulescale monitor: {}\n", error.text()));
  return exit_status_of(error);
}

/// The parts between commas, empty ones too; of an empty text none.
std::vector<std::string> list_of(std::string_view text) {
  std::vector<std::string> parts;
  if (text.empty()) {
    return parts;
  }
  for (std::size_t comma = text.find(','); comma != std::string_view::npos;
       comma = text.find(',')) {
    parts.emplace_back(text.substr(0, comma));
    text.remove_prefix(comma + 1);
  }
  parts.emplace_back(text);
  return parts;
}

Result<void> complete_options(MonitorArguments& arguments) {
  MonitorOptions& options = arguments.options;
  options.version = JOULESCALE_VERSION;
  if (options.command.empty()) {
    return Error(ErrorCode::kInvalidArgument,
                 "no command given; write it after --, as in: joulescale monitor -- sleep 1");
  }
  for (const std::string& name : list_of(arguments.require)) {
    const auto domain = domain_from_name(name);
    if (!domain) {
      return Error(
          ErrorCode::kInvalidArgument,
          fmt::format("--require: '{}' is no component; allowed are cpu, dram, gpu", name));
    }
    options.require.insert(*domain);
  }
  if (arguments.baseline) {
    const auto length = parse_baseline_length(*arguments.baseline);
    if (!length) {
      return Error(ErrorCode::kInvalidArgument,
                   fmt::format("--baseline: '{}' is not allowed; allowed: {}",
                               *arguments.baseline,
                               kBaselineLengths));
    }
    options.baseline = *length;
  }
  options.sources.devices =
      arguments.devices == "all" ? DeviceChoice::kAll : DeviceChoice::kVisible;
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) {
    options.sources.cuda_visible_devices = visible;
  }
  options.journal.budget_bytes = static_cast<std::size_t>(arguments.journal_mib * kMebibyte);
  options.sources.estimate.cpu_thread_active = Watts(arguments.cpu_thread_watts);
  if (arguments.ram_watts > 0.0) {
    options.sources.estimate.ram = Watts(arguments.ram_watts);
  }
  if (!arguments.study_file.empty()) {
    const auto text = read_file(arguments.study_file);
    if (!text) {
      return Error(ErrorCode::kInvalidArgument, "--study: " + text.error().text());
    }
    auto study = parse_study_record(*text);
    if (!study) {
      return Error(ErrorCode::kInvalidArgument,
                   fmt::format("--study: '{}': {}", arguments.study_file, study.error().text()));
    }
    options.study = std::move(study).value();
  }
  return {};
}

int run(MonitorArguments& arguments) {
  if (auto complete = complete_options(arguments); !complete) {
    return fail(complete.error());
  }
  const auto outcome = run_monitor(arguments.options);
  if (!outcome) {
    return fail(outcome.error());
  }
  std::fflush(nullptr);
  const int status = outcome->signal ? die_by_signal(*outcome->signal) : outcome->exit_status;
  if (outcome->left_threads) {
    std::_Exit(status);
  }
  return status;
}

}  // namespace

void add_monitor_command(CLI::App& app, Invocation& invocation) {
  auto arguments = std::make_shared<MonitorArguments>();
  MonitorOptions& options = arguments->options;
  CLI::App* command =
      app.add_subcommand("monitor", "Run a command, measure its energy, return its exit status");
  command->footer(kMonitorExample);
  command
      ->add_option("-o,--output",
                   options.output,
                   "Run directory to make (default: a name below ./joulescale-runs)")
      ->type_name("DIR");
  command->add_option("--rate", options.rate_hz, "Samples a second, 1 to 100")
      ->check(number_between(1.0, 100.0))
      ->capture_default_str()
      ->type_name("HZ");
  command->add_flag("--force-rate",
                    options.sources.force_rate,
                    "Read GPUs more often than every 50 ms too (drivers may give zeros or errors)");
  command
      ->add_option(
          "--require",
          arguments->require,
          "Components without whose counter nothing is started (exit status 3): cpu, dram, gpu")
      ->type_name("LIST");
  command
      ->add_option(
          "--devices", arguments->devices, "GPUs to measure: those the command may use, or all")
      ->check(one_of({"visible", "all"}))
      ->capture_default_str();
  command
      ->add_option("--study", arguments->study_file, "JSON object that becomes run.json's `study`")
      ->type_name("FILE");
  command
      ->add_option("--baseline",
                   arguments->baseline,
                   "Measure the idle node for so long before the command is started, 1s to 1h; "
                   "reported beside the energy, subtracted from nothing")
      ->type_name("TIME");
  command->add_option("--launch-id", options.launch_id, "Name of this launch")->type_name("ID");
  command
      ->add_option(
          "--root", options.sources.root, "Directory that stands for / for sysfs and procfs")
      ->check(existing_directory())
      ->capture_default_str()
      ->type_name("DIR");
  command
      ->add_option("--nvml-library",
                   options.sources.nvml_library,
                   "NVIDIA's management library (default: the system's)")
      ->check(library_file())
      ->type_name("FILE");
  command
      ->add_option("--cpu-thread-watts",
                   arguments->cpu_thread_watts,
                   "Estimate of a busy hardware thread's power, W; idle it takes a tenth")
      ->check(number_between(0.001, 10'000.0))
      ->capture_default_str()
      ->type_name("W");
  command
      ->add_option("--ram-watts",
                   arguments->ram_watts,
                   "Estimate of all memory's power, W (default: by the number of modules)")
      ->check(number_between(0.001, 100'000.0))
      ->type_name("W");
  command
      ->add_option("--journal-budget",
                   arguments->journal_mib,
                   "Disk that a process's readings may take, MiB; beyond it old ones are thinned "
                   "(totals stay exact)")
      ->check(number_between(0.0625, 1e6))
      ->capture_default_str()
      ->type_name("MIB");
  command->add_flag("--wait-for-children",
                    options.wait_for_children,
                    "Measure until processes that the command leaves behind have ended too");
  command->add_flag("--redact", options.redact, "Leave the command line out of the record");
  command->add_flag("-q,--quiet", options.quiet, "No summary");
  take_command(*command);
  command->callback([arguments, command, &invocation] {
    arguments->options.command = taken_command(*command, invocation);
    invocation.exit_status = run(*arguments);
  });
}

}  // namespace joulescale
