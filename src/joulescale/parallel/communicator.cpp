// SPDX-License-Identifier: Apache-2.0
#include "joulescale/parallel/communicator.h"

#include <algorithm>
#include <utility>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "joulescale/parallel/communicator_impl.h"
#include "joulescale/parallel/cuda/cuda_library.h"

namespace joulescale {
namespace {

using Group = c10d::ProcessGroup;

/// Gloo connects over the loopback interface if the ranks meet there, else over the interface that
/// GLOO_SOCKET_IFNAME or the host's name says.
c10::intrusive_ptr<c10d::Backend> make_gloo(const RankEnvironment& ranks,
                                            const StorePtr& store,
                                            std::chrono::milliseconds timeout) {
  auto options = c10d::ProcessGroupGloo::Options::create_default(timeout);
  if (is_loopback(ranks.master_address)) {
    options->devices = {c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1")};
  }
  return c10::make_intrusive<c10d::ProcessGroupGloo>(
      store, ranks.rank, ranks.world_size, std::move(options));
}

c10::intrusive_ptr<Group> make_group(const RankEnvironment& ranks,
                                     const Device& device,
                                     const StorePtr& store,
                                     std::chrono::milliseconds timeout) {
  auto group = c10::make_intrusive<Group>(store, ranks.rank, ranks.world_size);
  group->setDefaultBackend(device.is_cuda() ? Group::BackendType::NCCL : Group::BackendType::GLOO);
  group->setBackend(c10::DeviceType::CPU,
                    Group::BackendType::GLOO,
                    std::optional(make_gloo(ranks, store, timeout)));
  if (device.is_cuda()) {
    device.cuda()->add_nccl_backend(*group, *store, timeout);
  }
  return group;
}

}  // namespace

Communicator::Communicator(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&&) noexcept = default;
Communicator::~Communicator() = default;

Result<Communicator> Communicator::create(const RankEnvironment& ranks,
                                          const Device& device,
                                          const CommunicatorOptions& options) {
  auto impl = std::make_unique<Impl>();
  impl->ranks = ranks;
  if (ranks.world_size == 1) {
    return Communicator(std::move(impl));
  }
  JOULESCALE_TRY_ASSIGN(impl->store, open_store(ranks, options.store_listen_fd, options.timeout));
  try {
    impl->liveness = std::make_unique<Liveness>(impl->store, ranks.rank, ranks.world_size);
    impl->group = make_group(ranks, device, impl->store, options.timeout);
  } catch (const std::exception& exception) {
    const std::string message = short_message(exception);
    return Error(ErrorCode::kUnavailable,
                 impl->liveness
                     ? impl->liveness->explain(message)
                     : fmt::format("rank {}: cannot form the group: {}", ranks.rank, message));
  }
  return Communicator(std::move(impl));
}

int Communicator::rank() const { return impl_->ranks.rank; }
int Communicator::world_size() const { return impl_->ranks.world_size; }

void Communicator::all_reduce_sum(std::span<double> values) {
  if (!impl_->group) {
    return;
  }
  std::vector<at::Tensor> tensors = {
      at::from_blob(values.data(), {static_cast<std::int64_t>(values.size())}, at::kDouble)};
  impl_->group->allreduce(tensors)->wait();
}

void Communicator::broadcast_from_rank0(const std::vector<at::Tensor>& tensors) {
  if (!impl_->group) {
    return;
  }
  for (const at::Tensor& tensor : tensors) {
    std::vector<at::Tensor> one = {tensor.detach()};
    impl_->group->broadcast(one)->wait();
  }
}

Result<void> Communicator::check_same(std::string_view what, std::string_view text) {
  if (!impl_->group) {
    return {};
  }
  const auto key = fmt::format("same/{}", what);
  if (rank() == 0) {
    impl_->store->set(key, std::vector<std::uint8_t>(text.begin(), text.end()));
    return {};
  }
  const auto bytes = impl_->store->get(key);
  if (!std::ranges::equal(
          bytes, text, {}, {}, [](char c) { return static_cast<std::uint8_t>(c); })) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("started with other {} than rank 0: '{}' against '{}'",
                             what,
                             text,
                             std::string(bytes.begin(), bytes.end())));
  }
  return {};
}

void Communicator::barrier() {
  double nothing = 0.0;
  all_reduce_sum({&nothing, 1});
}

void Communicator::report_failure(std::string_view message) noexcept {
  if (impl_->liveness) {
    impl_->liveness->report(message);
  }
}

std::string Communicator::explain_failure(std::string_view message) noexcept {
  return impl_->liveness ? impl_->liveness->explain(message) : std::string(message);
}

}  // namespace joulescale
