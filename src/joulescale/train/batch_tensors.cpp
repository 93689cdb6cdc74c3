// SPDX-License-Identifier: Apache-2.0
#include "joulescale/train/batch_tensors.h"

#include "joulescale/base/error.h"

namespace joulescale {

BatchTensors::BatchTensors(const ImageDataset& dataset,
                           const Normalization& normalization,
                           std::int64_t max_samples,
                           torch::Device device)
    : dataset_(dataset),
      normalization_(normalization),
      device_(device),
      images_(torch::empty({max_samples, dataset.height, dataset.width, dataset.channels})),
      labels_(torch::empty({max_samples}, torch::kInt64)) {}

Batch BatchTensors::load(std::span<const std::uint32_t> samples,
                         Augmentation augmentation,
                         std::uint64_t seed,
                         std::int64_t epoch) {
  const auto count = static_cast<std::int64_t>(samples.size());
  JOULESCALE_CHECK(count >= 1 && count <= labels_.size(0));
  auto* labels = labels_.data_ptr<std::int64_t>();
  draws_.clear();
  for (const std::uint32_t sample : samples) {
    draws_.push_back(draw_augmentation(augmentation, seed, epoch, sample));
    *labels++ = dataset_.labels[sample];
  }
  write_image_batch(dataset_,
                    normalization_,
                    samples,
                    draws_,
                    {images_.data_ptr<float>(), samples.size() * dataset_.image_bytes()});
  return {images_.narrow(0, 0, count).permute({0, 3, 1, 2}).to(device_),
          labels_.narrow(0, 0, count).to(device_)};
}

}  // namespace joulescale
