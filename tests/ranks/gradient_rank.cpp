// SPDX-License-Identifier: Apache-2.0
// One rank of the gradient test: gradients of one update and evaluation counts of a network whose
// BatchNorm is in evaluation mode, so that ranks do not differ by the statistics of their batches.
//   gradient_rank DATA-DIRECTORY LOCAL-BATCH ACCUMULATION OUTPUT [--store-listen-fd N]
// The last batch is kept: 24 training samples in global batches of 16 give an update of 16 and one
// of 8. Rank 0 writes to OUTPUT a line with samples, top-1 and top-5 counts, then every gradient of
// either update in turn, a number a line.
#include <cstdlib>
#include <iterator>
#include <numeric>
#include <span>
#include <string>

#include <fmt/format.h>

#include "joulescale/base/file.h"
#include "joulescale/base/text.h"
#include "joulescale/data/image_dataset.h"
#include "joulescale/train/evaluation.h"
#include "joulescale/train/update_gradients.h"

namespace joulescale {
namespace {

std::string run(const ImageDataSplits& data,
                std::int64_t local_batch_size,
                int accumulation_steps,
                Communicator& communicator,
                const Device& device) {
  torch::manual_seed(1);
  const auto network = make_network({.name = "resnet8", .in_channels = 1}).value();
  network->eval();
  const auto normalization = Normalization::of(data.train);
  const auto batches = BatchPlan::create({.num_samples = 24,
                                          .world_size = communicator.world_size(),
                                          .local_batch_size = local_batch_size,
                                          .accumulation_steps = accumulation_steps,
                                          .last_batch = LastBatch::kKeep})
                           .value();
  MarkWriter marks;
  UpdateGradients gradients(*network,
                            data.train,
                            normalization,
                            batches,
                            {.augmentation = Augmentation::kCropFlip, .device = torch::kCPU},
                            communicator,
                            marks,
                            device);
  std::vector<std::uint32_t> order(24);
  std::iota(order.begin(), order.end(), 0U);
  std::string lines;
  for (std::int64_t update = 0; update < batches.updates_per_epoch(); ++update) {
    gradients.compute(order, 0, update);
    for (const auto& parameter : network->parameters()) {
      const auto flat = parameter.grad().flatten().contiguous();
      const std::span values(flat.data_ptr<float>(), static_cast<std::size_t>(flat.numel()));
      for (const float value : values) {
        fmt::format_to(std::back_inserter(lines), "{}\n", value);
      }
    }
    gradients.zero();
  }
  const auto counts = evaluate(*network, data.test, normalization, torch::kCPU, communicator);
  communicator.barrier();
  return fmt::format("{} {} {}\n", counts.samples, counts.top1_correct, counts.top5_correct) +
         lines;
}

}  // namespace
}  // namespace joulescale

int main(int argc, char** argv) {
  using namespace joulescale;  // NOLINT(google-build-using-namespace)
  const auto ranks = rank_environment(process_environment()).value();
  const auto device = Device::open("cpu", 0).value();
  CommunicatorOptions options;
  if (argc > 6 && ranks.rank == 0) {
    options.store_listen_fd = std::atoi(argv[6]);
  }
  at::set_num_threads(1);
  const auto data = load_image_data("fashion-mnist", argv[1]).value();
  auto communicator = Communicator::create(ranks, device, options).value();
  const std::string text = run(data, std::atoi(argv[2]), std::atoi(argv[3]), communicator, device);
  if (ranks.rank == 0 && !write_file_atomic(argv[4], text)) {
    return 1;
  }
  return 0;
}
