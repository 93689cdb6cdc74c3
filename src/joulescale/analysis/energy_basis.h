// SPDX-License-Identifier: Apache-2.0
// Which energy a study is judged by (docs/analysis.md): measured values only where every run has
// them, else totals that include estimates; and what each total contains, so that unlike totals are
// not compared unsaid.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "joulescale/base/units.h"
#include "joulescale/record/run_record.h"

namespace joulescale {

enum class EnergyBasis { kMeasured, kWithEstimates };

/// "measured", "with_estimates": the value of `energy_basis`.
std::string_view energy_basis_name(EnergyBasis basis);
std::optional<EnergyBasis> energy_basis_from_name(std::string_view name);

/// kMeasured if every run has a measured total (and there is a run).
EnergyBasis energy_basis_of(std::span<const RunRecord* const> runs);

/// A run's energy on that basis; absent where it has none.
std::optional<Joules> basis_energy(const RunRecord& run, EnergyBasis basis);

/// Names of the components in basis_energy(), sorted. Totals are comparable when these agree.
std::vector<std::string> energy_includes(const RunRecord& run, EnergyBasis basis);

}  // namespace joulescale
