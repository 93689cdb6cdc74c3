// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/summary.h"

#include <iterator>

#include <fmt/format.h>

namespace joulescale {
namespace {

std::string plus_minus(const std::optional<Joules>& uncertainty) {
  return uncertainty ? fmt::format(" +- {:.4g} J", uncertainty->value()) : "";
}

std::string components_table(const EnergyRecord& energy) {
  std::string text;
  const auto out = std::back_inserter(text);
  for (const auto& [name, component] : energy.components) {
    fmt::format_to(out,
                   "  {:<11} {:>12.3f} J{}  {}",
                   name,
                   component.energy.value(),
                   plus_minus(component.uncertainty),
                   provenance_name(component.provenance));
    if (component.integrated) {
      fmt::format_to(out, ", {:.3f} J from power samples", component.integrated->value());
    }
    if (!component.overlaps.empty()) {
      fmt::format_to(out, ", not added (overlaps {})", fmt::join(component.overlaps, ", "));
    }
    text += '\n';
    for (const auto& [input, value] : component.inputs) {
      fmt::format_to(out, "      {}: {}\n", input, value);
    }
  }
  return text;
}

std::string totals(const EnergyRecord& energy) {
  std::string text;
  const auto out = std::back_inserter(text);
  if (energy.total) {
    fmt::format_to(out,
                   "  total       {:>12.3f} J{}  measured ({})\n",
                   energy.total->value(),
                   plus_minus(energy.total_uncertainty),
                   fmt::join(energy.total_includes, " + "));
    if (!energy.instrument_accuracy.empty()) {
      fmt::format_to(out, "      instrument accuracy: {}\n", energy.instrument_accuracy);
    }
  }
  if (energy.estimated && energy.total_with_estimates) {
    fmt::format_to(out,
                   "  total       {:>12.3f} J  with ESTIMATES of {:.3f} J\n",
                   energy.total_with_estimates->value(),
                   energy.estimated->value());
  }
  if (!energy.total && !energy.estimated) {
    text += "  energy not known: no source gave a value\n";
  }
  return text;
}

}  // namespace

std::string format_summary(const RunRecord& run, const std::string& directory) {
  std::string text = fmt::format("joulescale: {:.3f} s on {} {}{}\n",
                                 run.duration.value(),
                                 run.devices.count,
                                 run.devices.kind == "gpu" ? "GPU" : "CPU rank",
                                 run.devices.count == 1 ? "" : "s");
  text += components_table(run.energy);
  text += totals(run.energy);
  if (run.power.mean) {
    text += fmt::format("  mean power  {:>12.3f} W  measured\n", run.power.mean->value());
  }
  if (!run.flags.empty()) {
    text += fmt::format("  flags: {}\n", fmt::join(run.flags, ", "));
  }
  text += fmt::format("  record: {}\n", directory);
  return text;
}

}  // namespace joulescale
