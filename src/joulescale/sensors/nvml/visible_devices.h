// SPDX-License-Identifier: Apache-2.0
// Which GPUs a command may use, by CUDA_VISIBLE_DEVICES (CUDA C++ programming guide, environment
// variables): NVML itself ignores the variable.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace joulescale {

struct GpuIdentity {
  std::string uuid;                    // "GPU-..."
  std::vector<std::string> mig_uuids;  // "MIG-..." of its instances
};

struct VisibleGpus {
  std::vector<std::size_t> indices;  // into the GPUs given, each once, in the variable's order
  std::string note;                  // an entry that names no GPU: it hides itself and all after it
};

/// `value` absent: every GPU; empty: none. Entries, all of one kind: an index, a GPU's UUID or a
/// prefix that fits one GPU only, "MIG-<uuid>" (or prefix), "MIG-GPU-<uuid>/<gi>/<ci>"; instances
/// stand for their GPU. Blanks around entries are ignored, of an index all after its digits. An
/// entry of another kind ends the list, a repeated one hides all (as PyTorch's
/// torch/cuda/__init__.py emulates the driver).
VisibleGpus select_visible_gpus(const std::optional<std::string>& value,
                                std::span<const GpuIdentity> gpus);

/// Whether the variable is set to use GPUs: neither absent nor empty, "-1" or "NoDevFiles" (Slurm's
/// word for none).
bool names_gpus(const std::optional<std::string>& value);

}  // namespace joulescale
