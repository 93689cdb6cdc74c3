// SPDX-License-Identifier: Apache-2.0
// joulescale sensors: what can be measured here, and for each source that cannot, why and what to
// do.
#include <cstdio>
#include <cstdlib>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "joulescale/base/clock.h"
#include "joulescale/base/output.h"
#include "joulescale/base/text.h"
#include "joulescale/sensors/catalogue.h"

#include "apps/joulescale/commands/commands.h"

namespace joulescale {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kExample = "Example: joulescale sensors --format json";

struct SourceStatus {
  std::string name;
  bool available = false;
  std::string reason;  // of one that is not
  std::vector<Channel> channels;
  std::vector<std::string> notes;
};

std::vector<SourceStatus> probe_sources(const SourceOptions& options) {
  std::vector<SourceStatus> sources;
  for (const auto& sensor : make_sensors(options, system_clock())) {
    SourceStatus& source = sources.emplace_back();
    source.name = sensor->name();
    auto opened = sensor->open();
    source.available = opened.ok();
    if (!opened) {
      source.reason = opened.error().text();
    }
    source.channels.assign(sensor->channels().begin(), sensor->channels().end());
    source.notes.assign(sensor->notes().begin(), sensor->notes().end());
    sensor->close();
  }
  for (const UnbuiltSource& unbuilt : unbuilt_sources()) {
    sources.push_back({std::string(unbuilt.name),
                       false,
                       fmt::format("not built in this version: {}", unbuilt.measures),
                       {},
                       {}});
  }
  return sources;
}

std::string_view quantity_name(Quantity quantity) {
  return quantity == Quantity::kEnergy ? "energy" : "power";
}

Json channel_json(const Channel& channel) {
  Json json = {{"name", to_valid_utf8(channel.name)},
               {"domain", domain_name(channel.domain)},
               {"quantity", quantity_name(channel.quantity)},
               {"unit", raw_unit_name(channel.unit)},
               {"provenance", provenance_name(channel.provenance)},
               {"overlap_group", to_valid_utf8(channel.overlap_group)},
               {"counted", is_counted(channel.domain)}};
  if (channel.update_period) {
    json["update_period_s"] = to_seconds(*channel.update_period).value();
  }
  if (channel.counter_range) {
    json["counter_range"] = *channel.counter_range;
  }
  json["instrument_accuracy"] = channel.instrument_accuracy;
  for (const auto& [name, value] : channel.inputs) {
    json["inputs"][name] = value;
  }
  return json;
}

void print_json(const std::vector<SourceStatus>& sources) {
  Json array = Json::array();
  for (const SourceStatus& source : sources) {
    Json json = {{"name", source.name}, {"available", source.available}};
    if (!source.available) {
      json["reason"] = to_valid_utf8(source.reason);
    }
    json["channels"] = Json::array();
    for (const Channel& channel : source.channels) {
      json["channels"].push_back(channel_json(channel));
    }
    json["notes"] = Json::array();
    for (const std::string& note : source.notes) {
      json["notes"].push_back(to_valid_utf8(note));
    }
    array.push_back(std::move(json));
  }
  print_text(
      stdout,
      fmt::format("{}\n", Json{{"schema", "joulescale.sensors/1"}, {"sources", array}}.dump(2)));
}

void print_table(const std::vector<SourceStatus>& sources) {
  for (const SourceStatus& source : sources) {
    print_text(
        stdout,
        fmt::format("{:<10} {}\n", source.name, source.available ? "available" : "not available"));
    if (!source.available) {
      print_text(stdout, fmt::format("    {}\n", source.reason));
    }
    for (const Channel& channel : source.channels) {
      print_text(
          stdout,
          fmt::format("    {:<48} {:<10} {:<6} in {}, {}, update period {}, group {}{}\n",
                      channel.name,
                      domain_name(channel.domain),
                      quantity_name(channel.quantity),
                      raw_unit_name(channel.unit),
                      provenance_name(channel.provenance),
                      channel.update_period
                          ? fmt::format("{:.4g} s", to_seconds(*channel.update_period).value())
                          : "unknown",
                      channel.overlap_group,
                      is_counted(channel.domain) ? "" : ", shown and never added"));
      for (const auto& [name, value] : channel.inputs) {
        print_text(stdout, fmt::format("        {}: {}\n", name, value));
      }
    }
    for (const std::string& note : source.notes) {
      print_text(stdout, fmt::format("    note: {}\n", note));
    }
  }
  print_text(
      stdout,
      "\nEstimates stand in only for CPU and RAM without a counter, and are always labelled.\n");
}

}  // namespace

void add_sensors_command(CLI::App& app, Invocation& invocation) {
  struct Arguments {
    SourceOptions options;
    std::string format = "table";
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "sensors", "What can be measured here; for each source that cannot, why and what to do");
  command->footer(kExample);
  command->add_option("--format", arguments->format, "How to print")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  command
      ->add_option(
          "--root", arguments->options.root, "Directory that stands for / for sysfs and procfs")
      ->capture_default_str()
      ->type_name("DIR");
  command
      ->add_option("--nvml-library",
                   arguments->options.nvml_library,
                   "NVIDIA's management library (default: the system's)")
      ->type_name("FILE");
  command->callback([arguments, &invocation] {
    arguments->options.devices = DeviceChoice::kAll;
    const auto sources = probe_sources(arguments->options);
    arguments->format == "json" ? print_json(sources) : print_table(sources);
    invocation.exit_status = 0;
  });
}

}  // namespace joulescale
