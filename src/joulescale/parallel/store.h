// SPDX-License-Identifier: Apache-2.0
// Opens the key-value store through which ranks find each other. Includes torch: for .cpp files
// of this room only.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "joulescale/base/error.h"
#include "joulescale/parallel/rendezvous.h"

namespace joulescale {

using StorePtr = c10::intrusive_ptr<c10d::Store>;

/// Rank 0 serves the store (unless torchrun does) on `listen_fd` if given, else on a socket of its
/// own; then waits until every rank has come, each once.
Result<StorePtr> open_store(const RankEnvironment& ranks,
                            std::optional<int> listen_fd,
                            std::chrono::milliseconds timeout);

/// The first line of an exception's text, without torch's stack and source position.
std::string short_message(const std::exception& exception);

}  // namespace joulescale
