// SPDX-License-Identifier: Apache-2.0
// Which cores each rank gets.
#pragma once

#include <vector>

namespace joulescale {

/// The cores on which this process may run, ascending.
std::vector<int> available_cpus();

/// One set of neighbouring cores a rank, all of the same size, none shared. Empty sets (no pinning)
/// when there are more ranks than cores.
std::vector<std::vector<int>> divide_cpus(const std::vector<int>& cpus, int num_ranks);

}  // namespace joulescale
