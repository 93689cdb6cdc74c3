// SPDX-License-Identifier: Apache-2.0
#include "joulescale/train/options.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "joulescale/base/text.h"
#include "joulescale/data/image_dataset.h"
#include "joulescale/models/catalogue.h"

namespace joulescale {
namespace {

constexpr std::int64_t kMaxCount = 1'000'000'000;  // of epochs, samples, batch sizes, seconds
constexpr std::array<std::string_view, 3> kAugmentNames = {"none", "flip", "crop-flip"};
constexpr std::array<std::string_view, 2> kLastBatchNames = {"drop", "keep"};
constexpr std::array<std::string_view, 2> kDeviceNames = {"cpu", "cuda"};

Result<void> check_count(std::string_view option, std::int64_t value, std::int64_t low = 1) {
  if (value >= low && value <= kMaxCount) {
    return {};
  }
  return Error(
      ErrorCode::kInvalidArgument,
      fmt::format("{} {}: must be a whole number from {} to {}", option, value, low, kMaxCount));
}

Result<void> check_range(std::string_view option, double value, double low, double high) {
  if (value >= low && value <= high) {  // false for NaN
    return {};
  }
  return Error(ErrorCode::kInvalidArgument,
               fmt::format("{} {}: must be from {} to {}", option, value, low, high));
}

Result<void> check_name(std::string_view option,
                        std::string_view value,
                        std::span<const std::string_view> names) {
  if (std::ranges::find(names, value) != names.end()) {
    return {};
  }
  return Error(ErrorCode::kInvalidArgument,
               fmt::format("{} '{}': must be one of {}", option, value, fmt::join(names, ", ")));
}

Result<void> check_values(const TrainOptions& options) {
  constexpr double kMaxRate = 1e6;
  JOULESCALE_TRY(check_model(options.model));
  JOULESCALE_TRY(check_name("--dataset", options.dataset, image_dataset_names()));
  if (options.train_samples) {
    JOULESCALE_TRY(check_count("--train-samples", *options.train_samples));
  }
  if (options.global_batch_size) {
    JOULESCALE_TRY(check_count("--global-batch-size", *options.global_batch_size));
  }
  JOULESCALE_TRY(check_count("--epochs", options.epochs));
  JOULESCALE_TRY(check_count("--local-batch-size", options.local_batch_size));
  JOULESCALE_TRY(check_count("--accumulation-steps", options.accumulation_steps));
  JOULESCALE_TRY(check_count("--seed", options.seed, 0));
  JOULESCALE_TRY(check_count("--threads", options.threads));
  JOULESCALE_TRY(check_count("--timeout-s", options.timeout_s));
  JOULESCALE_TRY(
      check_count("--learning-rate-reference-batch", options.learning_rate_reference_batch, 0));
  JOULESCALE_TRY(check_range("--learning-rate", options.learning_rate, 0.0, kMaxRate));
  JOULESCALE_TRY(check_range("--learning-rate-cap", options.learning_rate_cap, 0.0, kMaxRate));
  JOULESCALE_TRY(check_range("--warmup-fraction", options.warmup_fraction, 0.0, 1.0));
  JOULESCALE_TRY(check_range("--momentum", options.momentum, 0.0, 1.0));
  JOULESCALE_TRY(check_range("--weight-decay", options.weight_decay, 0.0, kMaxRate));
  JOULESCALE_TRY(check_name("--schedule", options.schedule, kScheduleNames));
  JOULESCALE_TRY(check_name("--augment", options.augment, kAugmentNames));
  JOULESCALE_TRY(check_name("--last-batch", options.last_batch, kLastBatchNames));
  return check_name("--device", options.device, kDeviceNames);
}

Result<std::int64_t> check_global_batch(const TrainOptions& options, int world_size) {
  const std::int64_t ranks = world_size;
  const std::int64_t steps = options.accumulation_steps;
  // Each factor is at most 1e9: divide instead of multiplying, so that nothing overflows.
  const std::int64_t limit = kMaxCount / options.local_batch_size / ranks;
  if (steps > limit) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("--local-batch-size {} x {} ranks x --accumulation-steps {} is more "
                             "than {}",
                             options.local_batch_size,
                             ranks,
                             steps,
                             kMaxCount));
  }
  const std::int64_t product = options.local_batch_size * ranks * steps;
  if (options.global_batch_size && *options.global_batch_size != product) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("--global-batch-size {}: must equal local batch size x ranks x "
                             "accumulation steps = {} x {} x {} = {}",
                             *options.global_batch_size,
                             options.local_batch_size,
                             ranks,
                             steps,
                             product));
  }
  return product;
}

/// The curve is written at the end: find out now whether it can be.
Result<void> check_curve(const std::filesystem::path& curve) {
  if (curve.empty()) {
    return {};
  }
  std::error_code ignored;
  const auto parent = curve.has_parent_path() ? curve.parent_path() : ".";
  if (std::filesystem::is_directory(parent, ignored) &&
      !std::filesystem::is_directory(curve, ignored)) {
    return {};
  }
  return Error(
      ErrorCode::kInvalidArgument,
      fmt::format("--curve '{}': must be a file in a directory that exists", curve.native()));
}

}  // namespace

Result<TrainPlan> plan_training(const TrainOptions& options,
                                int world_size,
                                std::optional<std::int64_t> dataset_samples) {
  JOULESCALE_TRY(check_values(options));
  JOULESCALE_TRY_ASSIGN(const auto global_batch_size, check_global_batch(options, world_size));
  JOULESCALE_TRY(check_curve(options.curve));
  TrainPlan plan;
  plan.global_batch_size = global_batch_size;
  plan.data_dir =
      options.data_dir.empty() ? default_data_directory(options.dataset) : options.data_dir;
  JOULESCALE_TRY(check_image_data(options.dataset, plan.data_dir));

  const std::int64_t available = dataset_samples.value_or(published_train_samples(options.dataset));
  if (options.train_samples.value_or(1) > available) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("--train-samples {}: {} has only {} training samples",
                             *options.train_samples,
                             options.dataset,
                             available));
  }
  plan.batches = {.num_samples = options.train_samples.value_or(available),
                  .world_size = world_size,
                  .local_batch_size = options.local_batch_size,
                  .accumulation_steps = static_cast<int>(options.accumulation_steps),
                  .last_batch = options.last_batch == "keep" ? LastBatch::kKeep : LastBatch::kDrop};
  JOULESCALE_TRY_ASSIGN(const auto batches, BatchPlan::create(plan.batches));
  plan.updates = batches.updates_per_epoch() * options.epochs;
  plan.samples = batches.samples_per_epoch() * options.epochs;
  plan.augmentation = *augmentation_from_name(options.augment);
  plan.schedule = {.kind = *schedule_from_name(options.schedule),
                   .peak = peak_learning_rate(options.learning_rate,
                                              global_batch_size,
                                              options.learning_rate_reference_batch,
                                              options.learning_rate_cap),
                   .warmup_fraction = options.warmup_fraction,
                   .updates = plan.updates};
  return plan;
}

std::string shared_options_text(const TrainOptions& options) {
  return fmt::format(
      "--model {} --dataset {} --train-samples {} --epochs {} --local-batch-size {} "
      "--accumulation-steps {} --last-batch {} --seed {} --learning-rate {} "
      "--learning-rate-reference-batch {} --learning-rate-cap {} --schedule {} "
      "--warmup-fraction {} --momentum {} --weight-decay {} --augment {} --device {}",
      options.model,
      options.dataset,
      options.train_samples ? fmt::to_string(*options.train_samples) : "all",
      options.epochs,
      options.local_batch_size,
      options.accumulation_steps,
      options.last_batch,
      options.seed,
      options.learning_rate,
      options.learning_rate_reference_batch,
      options.learning_rate_cap,
      options.schedule,
      options.warmup_fraction,
      options.momentum,
      options.weight_decay,
      options.augment,
      options.device);
}

}  // namespace joulescale
