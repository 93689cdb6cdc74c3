// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include <ATen/ATen.h>
#include <ATen/ops/_foreach_zero.h>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include "joulescale/parallel/communicator.h"
#include "joulescale/parallel/communicator_impl.h"

namespace joulescale {
namespace {

// PyTorch's own bucket sizes: a small first one, so that the first all-reduce starts early.
constexpr std::size_t kFirstBucketBytes = std::size_t{1} << 20;
constexpr std::size_t kBucketBytes = std::size_t{25} << 20;

std::unique_ptr<c10d::Reducer> make_reducer(const std::vector<at::Tensor>& parameters,
                                            c10::intrusive_ptr<c10d::ProcessGroup> group) {
  // Gradients become ready from the last layer to the first: buckets in that order.
  std::vector<at::Tensor> reversed(parameters.rbegin(), parameters.rend());
  auto [buckets, limits] =
      c10d::compute_bucket_assignment_by_size(reversed, {kFirstBucketBytes, kBucketBytes});
  for (auto& bucket : buckets) {
    for (auto& index : bucket) {
      index = parameters.size() - 1 - index;
    }
  }
  const std::vector<std::int64_t> bucket_limits(limits.begin(), limits.end());
  return std::make_unique<c10d::Reducer>(parameters,
                                         buckets,
                                         std::move(group),
                                         std::vector<bool>(parameters.size(), false),
                                         static_cast<std::int64_t>(kBucketBytes),
                                         /*find_unused_parameters=*/false,
                                         /*gradient_as_bucket_view=*/true,
                                         std::unordered_map<std::size_t, std::string>(),
                                         static_cast<std::int64_t>(kFirstBucketBytes),
                                         /*skip_all_reduce_unused_params=*/false,
                                         /*use_python_reducer=*/false,
                                         std::vector<std::int64_t>());
}

}  // namespace

struct GradientReducer::Impl {
  std::vector<at::Tensor> parameters;
  std::unique_ptr<c10d::Reducer> reducer;  // null for one rank
  bool reduce = true;
};

GradientReducer::GradientReducer(Communicator& communicator,
                                 const std::vector<at::Tensor>& parameters)
    : impl_(std::make_unique<Impl>()) {
  impl_->parameters = parameters;
  if (communicator.impl_->group) {
    impl_->reducer = make_reducer(parameters, communicator.impl_->group);
  }
}

GradientReducer::GradientReducer(GradientReducer&&) noexcept = default;
GradientReducer& GradientReducer::operator=(GradientReducer&&) noexcept = default;
GradientReducer::~GradientReducer() = default;

void GradientReducer::before_forward(bool reduce) {
  impl_->reduce = reduce;
  if (impl_->reducer) {
    impl_->reducer->rebuild_buckets();  // does so once, in the order of the first backward pass
    if (reduce) {
      impl_->reducer->prepare_for_forward();
    }
  }
}

void GradientReducer::before_backward() {
  if (impl_->reducer && impl_->reduce) {
    impl_->reducer->prepare_for_backward({});
  }
}

void GradientReducer::zero_gradients() {
  std::vector<at::Tensor> gradients;
  gradients.reserve(impl_->parameters.size());
  for (const auto& parameter : impl_->parameters) {
    if (parameter.grad().defined()) {
      gradients.push_back(parameter.grad());
    }
  }
  if (!gradients.empty()) {
    at::_foreach_zero_(gradients);
  }
}

}  // namespace joulescale
