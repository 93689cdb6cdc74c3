// SPDX-License-Identifier: Apache-2.0
// The phases of training as regions of the marks.
#pragma once

#include "joulescale/monitor/marks/mark_writer.h"
#include "joulescale/parallel/device.h"

namespace joulescale {

struct PhaseRegions {
  explicit PhaseRegions(MarkWriter& marks)
      : data(marks.region("data")),
        forward(marks.region("forward")),
        backward(marks.region("backward")),
        optimizer(marks.region("optimizer")),
        evaluation(marks.region("evaluation")) {}
  RegionId data;
  RegionId forward;
  RegionId backward;  // with the all-reduce
  RegionId optimizer;
  RegionId evaluation;
};

/// A region that ends only when the device has done its work.
class Phase {
 public:
  Phase(MarkWriter& marks, RegionId region, const Device& device)
      : region_(marks, region), device_(device) {}
  ~Phase() {
    try {
      device_.synchronize();
    } catch (...) {  // NOLINT(bugprone-empty-catch): the next call on the device reports it
    }
  }
  Phase(const Phase&) = delete;
  Phase& operator=(const Phase&) = delete;

 private:
  ScopedRegion region_;
  const Device& device_;
};

}  // namespace joulescale
