// SPDX-License-Identifier: Apache-2.0
// The probe: one forward and backward pass of a network whose weights and inputs are closed
// formulas, so that implementations, versions and devices can be compared number by number.
// Parameter k has flat values 0.1 sin(0.37 i + k), BatchNorm weights that plus 1; the input is
// cos(0.11 i), the label of sample b is b mod classes; BatchNorm uses mean 0 and variance 1.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "joulescale/base/error.h"
#include "joulescale/models/catalogue.h"

namespace joulescale {

/// A learnable tensor as the state dict calls it.
struct ParameterInfo {
  std::string name;
  std::vector<std::int64_t> shape;
  std::int64_t count = 0;
};

/// The parameters in registration order. Builds the network once.
Result<std::vector<ParameterInfo>> model_parameters(const ModelSpec& spec);

/// The names of all entries of the state dict: parameters, then buffers (BatchNorm statistics).
Result<std::vector<std::string>> model_state_names(const ModelSpec& spec);

struct ProbeOptions {
  ModelSpec model;
  std::int64_t batch_size = 4;
  std::int64_t image_height = 32;
  std::int64_t image_width = 32;
};

struct ProbeResult {
  std::int64_t parameters = 0;
  double output_sum = 0.0;
  double output_abs_sum = 0.0;
  std::vector<double> output_first;  // up to 4 values
  std::vector<double> output_last;
  double loss = 0.0;  // cross-entropy
  /// L2 norm of each parameter's gradient, in registration order; nothing for one without.
  std::vector<std::pair<std::string, std::optional<double>>> grad_norms;
};

Result<ProbeResult> probe_network(const ProbeOptions& options);

}  // namespace joulescale
