// SPDX-License-Identifier: Apache-2.0
#include "joulescale/data/sampler.h"

#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>

#include "joulescale/data/random.h"

namespace joulescale {
namespace {

// First word of each random stream: streams of one seed for different purposes are unrelated.
constexpr std::uint64_t kOrderStream = 1;
constexpr std::uint64_t kSubsetStream = 2;
constexpr std::size_t kNumByteValues = 256;

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

BatchPlan::BatchPlan(const BatchPlanOptions& options)
    : options_(options),
      global_batch_size_(options.local_batch_size * options.world_size *
                         options.accumulation_steps),
      updates_per_epoch_(options.last_batch == LastBatch::kDrop
                             ? options.num_samples / global_batch_size_
                             : divide_up(options.num_samples, global_batch_size_)) {}

Result<BatchPlan> BatchPlan::create(const BatchPlanOptions& options) {
  JOULESCALE_CHECK(options.num_samples >= 1 && options.world_size >= 1 &&
                   options.local_batch_size >= 1 && options.accumulation_steps >= 1);
  BatchPlan plan(options);
  if (plan.updates_per_epoch_ == 0) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("the global batch of {} samples is larger than the {} training "
                             "samples: no update would be made (use a smaller batch, or "
                             "--last-batch keep)",
                             plan.global_batch_size_,
                             options.num_samples));
  }
  return plan;
}

std::int64_t BatchPlan::samples_per_epoch() const {
  return std::min(options_.num_samples, updates_per_epoch_ * global_batch_size_);
}

std::int64_t BatchPlan::update_samples(std::int64_t update) const {
  return std::min(global_batch_size_, options_.num_samples - update * global_batch_size_);
}

int BatchPlan::micro_steps(std::int64_t update) const {
  return static_cast<int>(
      divide_up(update_samples(update), options_.local_batch_size * options_.world_size));
}

void BatchPlan::micro_batch(std::int64_t update,
                            int micro_step,
                            int rank,
                            std::vector<std::uint32_t>& positions) const {
  const std::int64_t begin = update * global_batch_size_;
  const std::int64_t micro_samples = options_.local_batch_size * options_.world_size;
  const std::int64_t first = begin + micro_step * micro_samples;
  const std::int64_t end = std::min(first + micro_samples, begin + update_samples(update));
  positions.clear();
  for (std::int64_t position = first + rank; position < end; position += options_.world_size) {
    positions.push_back(static_cast<std::uint32_t>(position));
  }
}

std::vector<std::uint32_t> epoch_order(std::span<const std::uint32_t> samples,
                                       std::uint64_t seed,
                                       std::int64_t epoch) {
  std::vector<std::uint32_t> order(samples.begin(), samples.end());
  Random({kOrderStream, seed, static_cast<std::uint64_t>(epoch)}).shuffle(std::span(order));
  return order;
}

std::vector<std::uint32_t> stratified_subset(std::span<const std::uint8_t> labels,
                                             std::size_t num_samples,
                                             std::uint64_t seed) {
  JOULESCALE_CHECK(num_samples <= labels.size());
  std::array<std::vector<std::uint32_t>, kNumByteValues> members;
  for (std::size_t sample = 0; sample < labels.size(); ++sample) {
    members[labels[sample]].push_back(static_cast<std::uint32_t>(sample));
  }
  // Share of a class = members * num_samples / all; the remainders say who gets one more.
  std::array<std::size_t, kNumByteValues> quota{};
  std::array<std::size_t, kNumByteValues> by_remainder{};
  std::array<std::size_t, kNumByteValues> remainder{};
  std::size_t given = 0;
  for (std::size_t label = 0; label < kNumByteValues; ++label) {
    const std::size_t product = members[label].size() * num_samples;
    quota[label] = labels.empty() ? 0 : product / labels.size();
    remainder[label] = labels.empty() ? 0 : product % labels.size();
    given += quota[label];
  }
  std::iota(by_remainder.begin(), by_remainder.end(), std::size_t{0});
  std::ranges::sort(by_remainder, [&](auto a, auto b) {
    return remainder[a] != remainder[b] ? remainder[a] > remainder[b] : a < b;
  });
  for (std::size_t i = 0; given < num_samples; ++i, ++given) {
    ++quota[by_remainder[i]];
  }
  std::vector<std::uint32_t> chosen;
  chosen.reserve(num_samples);
  for (std::size_t label = 0; label < kNumByteValues; ++label) {
    Random({kSubsetStream, seed, label}).shuffle(std::span(members[label]));
    chosen.insert(chosen.end(),
                  members[label].begin(),
                  members[label].begin() + static_cast<std::ptrdiff_t>(quota[label]));
  }
  std::ranges::sort(chosen);
  return chosen;
}

}  // namespace joulescale
