// SPDX-License-Identifier: Apache-2.0
// What a training run is told, and the checks that need no torch: the same for the trainer and for
// `joulescale-train check`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "joulescale/base/error.h"
#include "joulescale/data/image_batch.h"
#include "joulescale/data/sampler.h"
#include "joulescale/train/schedule.h"

namespace joulescale {

/// Names and defaults as on the command line (docs/training.md).
struct TrainOptions {
  std::string model = "resnet8";
  std::string dataset = "fashion-mnist";
  std::filesystem::path data_dir;             // empty: the data set's default directory
  std::optional<std::int64_t> train_samples;  // nothing: all
  std::int64_t epochs = 1;
  std::int64_t local_batch_size = 64;
  std::optional<std::int64_t> global_batch_size;  // if given, checked against the other numbers
  std::int64_t accumulation_steps = 1;
  std::string last_batch = "drop";  // or "keep"
  std::int64_t seed = 0;
  double learning_rate = 0.1;
  std::int64_t learning_rate_reference_batch = 0;  // 0: the learning rate is not scaled
  double learning_rate_cap = 0.0;                  // 0: no cap
  std::string schedule = "one-cycle";
  double warmup_fraction = 0.3;
  double momentum = 0.9;
  double weight_decay = 1e-4;
  std::string augment = "flip";
  std::string device = "cpu";
  std::int64_t threads = 1;
  std::int64_t timeout_s = 300;
  std::optional<int> store_listen_fd;
  std::filesystem::path curve;  // empty: no loss curve is written
  bool quiet = false;
};

/// The options, checked and worked out for a number of ranks.
struct TrainPlan {
  BatchPlanOptions batches;
  std::int64_t global_batch_size = 0;
  std::int64_t updates = 0;  // over all epochs
  std::int64_t samples = 0;  // over all epochs and ranks
  Augmentation augmentation = Augmentation::kNone;
  ScheduleOptions schedule;
  std::filesystem::path data_dir;
};

/// Errors (kInvalidArgument): one line with the option, its value and what is allowed. Checks that
/// the data set's files are there, but does not read them. `dataset_samples`: training samples of
/// the data set; nothing where it has not been read yet (then the published number counts).
Result<TrainPlan> plan_training(const TrainOptions& options,
                                int world_size,
                                std::optional<std::int64_t> dataset_samples = std::nullopt);

/// The options that all ranks must agree on, as one line of text.
std::string shared_options_text(const TrainOptions& options);

}  // namespace joulescale
