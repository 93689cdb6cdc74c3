// SPDX-License-Identifier: Apache-2.0
// `probe`: numbers of one pass of a network with closed-formula weights (models/probe.h), as JSON.
#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "joulescale/base/output.h"
#include "joulescale/base/text.h"
#include "joulescale/models/probe.h"

#include "apps/joulescale-train/commands.h"

namespace joulescale {
namespace {

struct ProbeArguments {
  ProbeOptions probe;
  std::string image_size = "32x32";
  std::string format = "json";
};

/// "64x48": height 64, width 48.
std::optional<std::pair<std::int64_t, std::int64_t>> parse_image_size(std::string_view text) {
  const auto cross = text.find('x');
  if (cross == std::string_view::npos) {
    return std::nullopt;
  }
  const auto height = parse_int64(text.substr(0, cross));
  const auto width = parse_int64(text.substr(cross + 1));
  constexpr std::int64_t kMaxSide = 1 << 14;
  if (!height || !width || *height < 1 || *width < 1 || *height > kMaxSide || *width > kMaxSide) {
    return std::nullopt;
  }
  return std::pair(*height, *width);
}

Result<void> check_arguments(ProbeArguments& arguments) {
  constexpr int kMaxNumber = 1 << 20;
  ProbeOptions& probe = arguments.probe;
  const auto wrong = [](std::string message) {
    return Error(ErrorCode::kInvalidArgument, std::move(message));
  };
  JOULESCALE_TRY(check_model(probe.model.name));
  if (arguments.format != "json") {
    return wrong(fmt::format("--format '{}': must be json", arguments.format));
  }
  const auto size = parse_image_size(arguments.image_size);
  if (!size) {
    return wrong(fmt::format("--image-size '{}': must be HEIGHTxWIDTH, for instance 64x64",
                             arguments.image_size));
  }
  probe.image_height = size->first;
  probe.image_width = size->second;
  for (const auto& [name, value] :
       {std::pair("--classes", std::int64_t{probe.model.num_classes}),
        std::pair("--in-channels", std::int64_t{probe.model.in_channels}),
        std::pair("--batch-size", probe.batch_size)}) {
    if (value < 1 || value > kMaxNumber) {
      return wrong(fmt::format("{} {}: must be from 1 to {}", name, value, kMaxNumber));
    }
  }
  return {};
}

std::string to_json(const ProbeResult& result) {
  nlohmann::ordered_json json;
  json["parameters"] = result.parameters;
  json["output_sum"] = result.output_sum;
  json["output_abs_sum"] = result.output_abs_sum;
  json["output_first"] = result.output_first;
  json["output_last"] = result.output_last;
  json["loss"] = result.loss;
  nlohmann::ordered_json norms = nlohmann::ordered_json::object();
  for (const auto& [name, norm] : result.grad_norms) {
    norms[name] = norm ? nlohmann::ordered_json(*norm) : nlohmann::ordered_json(nullptr);
  }
  json["grad_norms"] = std::move(norms);
  return json.dump(2);
}

int probe(ProbeArguments& arguments) {
  if (const auto checked = check_arguments(arguments); !checked) {
    print_error(checked.error().text());
    return exit_status_of(checked.error());
  }
  const auto result = probe_network(arguments.probe);
  if (!result) {
    print_error(result.error().text());
    return exit_status_of(result.error());
  }
  print_text(stdout, fmt::format("{}\n", to_json(*result)));
  return 0;
}

}  // namespace

void add_probe_command(CLI::App& app, int& exit_status) {
  const auto arguments = std::make_shared<ProbeArguments>();
  CLI::App* command = app.add_subcommand(
      "probe", "One forward and backward pass with closed-formula weights and inputs, as JSON");
  command->footer(
      "Example:\n  joulescale-train probe resnet18 --image-size 64x64 --classes 10 --batch-size 4 "
      "--format json");
  command->add_option("model", arguments->probe.model.name, "The network")->required();
  command->add_option("--image-size", arguments->image_size, "HEIGHTxWIDTH");
  command->add_option("--classes", arguments->probe.model.num_classes, "Classes");
  command->add_option("--in-channels", arguments->probe.model.in_channels, "Channels of the input");
  command->add_option("--batch-size", arguments->probe.batch_size, "Samples");
  command->add_option("--format", arguments->format, "json");
  command->callback([arguments, &exit_status] { exit_status = probe(*arguments); });
}

}  // namespace joulescale
