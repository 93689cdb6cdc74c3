// SPDX-License-Identifier: Apache-2.0
#include "joulescale/train/update_gradients.h"

namespace joulescale {

UpdateGradients::UpdateGradients(Network& network,
                                 const ImageDataset& dataset,
                                 const Normalization& normalization,
                                 const BatchPlan& batches,
                                 const PassSettings& settings,
                                 Communicator& communicator,
                                 MarkWriter& marks,
                                 const Device& device)
    : network_(network),
      batches_(batches),
      settings_(settings),
      communicator_(communicator),
      marks_(marks),
      regions_(marks),
      device_(device),
      inputs_(dataset, normalization, batches.local_batch_size(), settings.device),
      reducer_(communicator, network.parameters()) {}

UpdateLoss UpdateGradients::compute(std::span<const std::uint32_t> order,
                                    std::int64_t epoch,
                                    std::int64_t update) {
  // Each rank contributes the sum over its samples times world size / samples of the update; the
  // reducer divides by the world size: the mean over the update.
  const double weight = static_cast<double>(communicator_.world_size()) /
                        static_cast<double>(batches_.update_samples(update));
  const int micro_steps = batches_.micro_steps(update);
  UpdateLoss total;
  for (int step = 0; step < micro_steps; ++step) {
    const bool reduce = step + 1 == micro_steps;
    batches_.micro_batch(update, step, communicator_.rank(), samples_);
    for (auto& sample : samples_) {
      sample = order[sample];
    }
    if (samples_.empty()) {
      // A kept last batch without a sample for this rank, which must take part in the all-reduce
      // all the same: any sample, with weight 0.
      samples_.push_back(order.front());
      pass(samples_, epoch, 0.0, reduce);
    } else {
      total.loss_sum += pass(samples_, epoch, weight, reduce);
      total.samples += std::ssize(samples_);
    }
  }
  return total;
}

double UpdateGradients::pass(std::span<const std::uint32_t> samples,
                             std::int64_t epoch,
                             double weight,
                             bool reduce) {
  Batch batch;
  {
    const Phase phase(marks_, regions_.data, device_);
    batch = inputs_.load(samples, settings_.augmentation, settings_.seed, epoch);
  }
  torch::Tensor loss;
  {
    const Phase phase(marks_, regions_.forward, device_);
    reducer_.before_forward(reduce);
    loss = torch::nn::functional::cross_entropy(
        network_.forward(batch.images),
        batch.labels,
        torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kSum));
  }
  {
    const Phase phase(marks_, regions_.backward, device_);
    reducer_.before_backward();
    (loss * weight).backward();
  }
  return loss.item<double>();
}

}  // namespace joulescale
