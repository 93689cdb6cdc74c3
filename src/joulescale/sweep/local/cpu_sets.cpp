// SPDX-License-Identifier: Apache-2.0
#include "joulescale/sweep/local/cpu_sets.h"

#include <sched.h>

#include <cerrno>
#include <cstddef>

namespace joulescale {
namespace {

constexpr int kMaxCpus = 1 << 16;

}  // namespace

std::vector<int> available_cpus() {
  std::vector<int> cpus;
  for (int count = 1024; count <= kMaxCpus; count *= 2) {
    cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(count));
    const std::size_t size = CPU_ALLOC_SIZE(static_cast<std::size_t>(count));
    const bool read = ::sched_getaffinity(0, size, set) == 0;
    for (int cpu = 0; read && cpu < count; ++cpu) {
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), size, set)) {
        cpus.push_back(cpu);
      }
    }
    CPU_FREE(set);
    if (read || errno != EINVAL) {  // EINVAL: the kernel's mask is larger
      break;
    }
  }
  return cpus;
}

std::vector<std::vector<int>> divide_cpus(const std::vector<int>& cpus, int num_ranks) {
  const auto ranks = static_cast<std::size_t>(num_ranks);
  std::vector<std::vector<int>> sets(ranks);
  const std::size_t share = cpus.size() / ranks;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto first = cpus.begin() + static_cast<std::ptrdiff_t>(rank * share);
    sets[rank].assign(first, first + static_cast<std::ptrdiff_t>(share));
  }
  return sets;
}

}  // namespace joulescale
