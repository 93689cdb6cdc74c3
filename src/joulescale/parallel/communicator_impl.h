// SPDX-License-Identifier: Apache-2.0
// What is behind a Communicator. Includes torch: for .cpp files of this room only.
#pragma once

#include <memory>

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "joulescale/parallel/communicator.h"
#include "joulescale/parallel/liveness.h"

namespace joulescale {

struct Communicator::Impl {
  RankEnvironment ranks;
  // Without value for one rank.
  StorePtr store;
  c10::intrusive_ptr<c10d::ProcessGroup> group;
  std::unique_ptr<Liveness> liveness;
};

}  // namespace joulescale
