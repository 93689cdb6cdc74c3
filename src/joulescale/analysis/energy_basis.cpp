// SPDX-License-Identifier: Apache-2.0
#include "joulescale/analysis/energy_basis.h"

#include <algorithm>

namespace joulescale {
namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Estimates of what is already measured are shown by the monitor but not added to the total.
bool overlaps_measured(const ComponentEnergy& component, const std::vector<std::string>& measured) {
  return std::any_of(component.overlaps.begin(),
                     component.overlaps.end(),
                     [&](const std::string& other) { return contains(measured, other); });
}

}  // namespace

std::string_view energy_basis_name(EnergyBasis basis) {
  return basis == EnergyBasis::kMeasured ? "measured" : "with_estimates";
}

std::optional<EnergyBasis> energy_basis_from_name(std::string_view name) {
  for (const EnergyBasis basis : {EnergyBasis::kMeasured, EnergyBasis::kWithEstimates}) {
    if (energy_basis_name(basis) == name) {
      return basis;
    }
  }
  return std::nullopt;
}

EnergyBasis energy_basis_of(std::span<const RunRecord* const> runs) {
  const bool all_measured =
      !runs.empty() && std::all_of(runs.begin(), runs.end(), [](const RunRecord* run) {
        return run->energy.total.has_value();
      });
  return all_measured ? EnergyBasis::kMeasured : EnergyBasis::kWithEstimates;
}

std::optional<Joules> basis_energy(const RunRecord& run, EnergyBasis basis) {
  if (basis == EnergyBasis::kMeasured) {
    return run.energy.total;
  }
  if (run.energy.total_with_estimates) {
    return run.energy.total_with_estimates;
  }
  return run.energy.total ? run.energy.total : run.energy.estimated;
}

std::vector<std::string> energy_includes(const RunRecord& run, EnergyBasis basis) {
  std::vector<std::string> names = run.energy.total_includes;
  if (basis == EnergyBasis::kWithEstimates) {
    for (const auto& [name, component] : run.energy.components) {
      if (component.provenance == Provenance::kEstimated &&
          !contains(run.energy.total_includes, name) &&
          !overlaps_measured(component, run.energy.total_includes)) {
        names.push_back(name);
      }
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace joulescale
