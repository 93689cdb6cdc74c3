// SPDX-License-Identifier: Apache-2.0
#include "joulescale/train/evaluation.h"

#include <algorithm>
#include <array>
#include <vector>

#include "joulescale/train/batch_tensors.h"

namespace joulescale {
namespace {

constexpr std::int64_t kEvaluationBatch = 256;
constexpr std::int64_t kTopK = 5;

/// How many classes score higher than the right one, a sample; the number of classes where the
/// scores are not finite.
torch::Tensor places(const torch::Tensor& logits, const torch::Tensor& labels) {
  const auto right = logits.gather(1, labels.unsqueeze(1));
  const auto higher = logits.gt(right).sum(1);
  return torch::where(logits.isfinite().all(1), higher, logits.size(1));
}

}  // namespace

EvaluationCounts evaluate(Network& network,
                          const ImageDataset& dataset,
                          const Normalization& normalization,
                          torch::Device device,
                          Communicator& communicator) {
  const torch::NoGradGuard no_grad;
  communicator.broadcast_from_rank0(network.buffers());
  network.eval();
  BatchTensors batches(dataset, normalization, kEvaluationBatch, device);
  std::array<double, 3> counts{};  // samples, top-1, top-5
  std::vector<std::uint32_t> samples;
  const auto stride = static_cast<std::size_t>(communicator.world_size());
  for (auto next = static_cast<std::size_t>(communicator.rank()); next < dataset.size();) {
    samples.clear();
    for (; next < dataset.size() && std::ssize(samples) < kEvaluationBatch; next += stride) {
      samples.push_back(static_cast<std::uint32_t>(next));
    }
    const Batch batch = batches.load(samples, Augmentation::kNone, 0, 0);
    const auto place = places(network.forward(batch.images), batch.labels);
    counts[0] += static_cast<double>(samples.size());
    counts[1] += place.lt(1).sum().item<double>();
    counts[2] += place.lt(kTopK).sum().item<double>();
  }
  communicator.all_reduce_sum(counts);
  return {counts[0], counts[1], counts[2]};
}

}  // namespace joulescale
