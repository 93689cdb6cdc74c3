// SPDX-License-Identifier: Apache-2.0
// The median of measured values and how well it is known.
#pragma once

#include <vector>

namespace bench {

struct Estimate {
  double median = 0.0;
  double low = 0.0;  // 95 % interval of the median, by bootstrap
  double high = 0.0;
};

/// Of at least one value. The same values give the same interval.
Estimate estimate_median(std::vector<double> values);

}  // namespace bench
