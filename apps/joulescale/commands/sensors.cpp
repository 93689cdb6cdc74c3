// SPDX-License-Identifier: Apache-2.0
// joulescale sensors: what can be measured here, and for each source that cannot, why and what to
// do.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "joulescale/base/clock.h"
#include "joulescale/base/output.h"
#include "joulescale/base/text.h"
#include "joulescale/sensors/catalogue.h"
#include "joulescale/sensors/survey.h"

#include "apps/joulescale/commands/commands.h"
#include "apps/validators.h"

namespace joulescale {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSensorsExample = "Example: joulescale sensors --format json";

Survey survey_all(const SourceOptions& options) {
  Survey survey = survey_sources(make_sensors(options, system_clock()), system_clock());
  for (const UnbuiltSource& unbuilt : unbuilt_sources()) {
    SourceSurvey& source = survey.sources.emplace_back();
    source.name = unbuilt.name;
    source.reason = fmt::format("not built in this version: {}", unbuilt.measures);
  }
  return survey;
}

/// Whether its energy is in `total`; estimates stand apart.
bool is_measured_total(const Channel& channel) {
  return is_counted(channel.domain) && channel.provenance != Provenance::kEstimated;
}

Json metric_json(const Channel& channel) {
  return {{"name", to_valid_utf8(channel.name)},
          {"domain", domain_name(channel.domain)},
          {"quantity", quantity_name(channel.quantity)},
          {"unit", raw_unit_name(channel.unit)},
          {"counted", false}};
}

Json channel_json(const Channel& channel) {
  if (channel.quantity == Quantity::kMetric) {
    return metric_json(channel);
  }
  Json json = {{"name", to_valid_utf8(channel.name)},
               {"domain", domain_name(channel.domain)},
               {"quantity", quantity_name(channel.quantity)},
               {"unit", raw_unit_name(channel.unit)},
               {"provenance", provenance_name(channel.provenance)},
               {"overlap_group", to_valid_utf8(channel.overlap_group)},
               {"counted", is_measured_total(channel)}};
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

void print_json(const std::vector<SourceSurvey>& sources) {
  Json array = Json::array();
  for (const SourceSurvey& source : sources) {
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

/// Prints the words of `text` in lines of at most 80 columns, each behind `indent` blanks.
void print_wrapped(std::size_t indent, std::string_view text) {
  constexpr std::size_t kColumns = 80;
  std::string line;
  const auto flush = [&] {
    if (!line.empty()) {
      print_text(stdout, fmt::format("{:{}}{}\n", "", indent, line));
    }
    line.clear();
  };
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty() && indent + line.size() + 1 + word.size() > kColumns) {
      flush();
    }
    line += line.empty() ? "" : " ";
    line += word;
  }
  flush();
}

/// The channel's name without its source, and without its group where it stands below that.
std::string_view short_name(const Channel& channel) {
  std::string_view name = channel.name;
  name.remove_prefix(std::min(name.find('/') + 1, name.size()));
  const std::string& group = channel.overlap_group;
  if (name.size() > group.size() && name.starts_with(group) && name[group.size()] == '/') {
    name.remove_prefix(group.size() + 1);
  }
  return name;
}

std::string_view in_total(const Channel& channel) {
  if (channel.provenance == Provenance::kEstimated) {
    return "apart";
  }
  return is_measured_total(channel) ? "yes" : "no";
}

/// Metrics in a paragraph a device: they have neither joules nor provenance.
void print_metrics(const SourceSurvey& source) {
  std::map<std::string, std::string> metrics;  // by what they are of
  for (const Channel& channel : source.channels) {
    if (channel.quantity == Quantity::kMetric) {
      const std::size_t slash = channel.name.rfind('/');
      std::string& list = metrics[channel.name.substr(0, slash)];
      list += fmt::format("{}{} in {}",
                          list.empty() ? "" : ", ",
                          channel.name.substr(slash + 1),
                          raw_unit_name(channel.unit));
    }
  }
  for (const auto& [object, list] : metrics) {
    print_wrapped(4, fmt::format("metrics of {}: {}", object, list));
  }
}

void print_channels(const SourceSurvey& source) {
  if (std::ranges::all_of(source.channels, [](const Channel& channel) {
        return channel.quantity == Quantity::kMetric;
      })) {
    return;
  }
  constexpr const char* kRow = "    {:<14} {:<10} {:<7} {:<8} {:<10} {:<12} {}\n";
  print_text(stdout,
             fmt::format(fmt::runtime(kRow),
                         "channel",
                         "domain",
                         "what",
                         "unit",
                         "provenance",
                         "moves every",
                         "in total"));
  std::set<std::string_view> groups;
  for (const Channel& channel : source.channels) {
    if (channel.quantity == Quantity::kMetric || !groups.insert(channel.overlap_group).second) {
      continue;
    }
    print_text(stdout, fmt::format("  {}\n", channel.overlap_group));
    for (const Channel& member : source.channels) {
      if (member.overlap_group != channel.overlap_group) {
        continue;
      }
      print_text(
          stdout,
          fmt::format(fmt::runtime(kRow),
                      short_name(member),
                      domain_name(member.domain),
                      quantity_name(member.quantity),
                      raw_unit_name(member.unit),
                      provenance_name(member.provenance),
                      member.update_period
                          ? fmt::format("{:.4g} s", to_seconds(*member.update_period).value())
                          : "unknown",
                      in_total(member)));
      for (const auto& [name, value] : member.inputs) {
        print_wrapped(6, fmt::format("{}: {}", name, value));
      }
    }
  }
}

void print_table(const std::vector<SourceSurvey>& sources) {
  for (const SourceSurvey& source : sources) {
    print_text(
        stdout,
        fmt::format("{}: {}\n", source.name, source.available ? "available" : "not available"));
    print_wrapped(4, source.reason);
    if (!source.channels.empty()) {
      print_channels(source);
      print_metrics(source);
    }
    for (const std::string& note : source.notes) {
      print_wrapped(4, "note: " + note);
    }
  }
  print_text(stdout, "\n");
  print_wrapped(0,
                "Channels below one heading share joules: the total counts one of them, an energy "
                "counter before power, powercap before perf. Estimates stand in only for CPU and "
                "RAM without a counter, and are always labelled.");
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
  command->footer(kSensorsExample);
  command->add_option("--format", arguments->format, "How to print")
      ->check(one_of({"table", "json"}))
      ->capture_default_str();
  command
      ->add_option(
          "--root", arguments->options.root, "Directory that stands for / for sysfs and procfs")
      ->check(existing_directory())
      ->capture_default_str()
      ->type_name("DIR");
  command
      ->add_option("--nvml-library",
                   arguments->options.nvml_library,
                   "NVIDIA's management library (default: the system's)")
      ->check(library_file())
      ->type_name("FILE");
  command->callback([arguments, &invocation] {
    arguments->options.devices = DeviceChoice::kAll;
    const Survey survey = survey_all(arguments->options);
    arguments->format == "json" ? print_json(survey.sources) : print_table(survey.sources);
    invocation.exit_status = 0;
    if (survey.left_threads) {
      std::_Exit(std::ferror(stdout) == 0 ? 0 : 1);
    }
  });
}

}  // namespace joulescale
