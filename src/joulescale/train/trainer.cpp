// SPDX-License-Identifier: Apache-2.0
#include "joulescale/train/trainer.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <c10/util/Logging.h>
#include <fmt/format.h>

#include "joulescale/models/network.h"
#include "joulescale/parallel/communicator.h"
#include "joulescale/train/evaluation.h"
#include "joulescale/train/interrupt.h"
#include "joulescale/train/phases.h"
#include "joulescale/train/progress.h"
#include "joulescale/train/sgd.h"
#include "joulescale/train/update_gradients.h"

namespace joulescale {
namespace {

/// What a run works on; made once, before the first update.
struct Job {
  TrainOptions options;
  TrainPlan plan;
  ImageDataSplits data;
  Normalization normalization;
  std::vector<std::uint32_t> samples;  // of the training split
  std::shared_ptr<Network> network;
  Device device;
  torch::Device torch_device;
};

torch::Device torch_device_of(const Device& device) {
  return device.is_cuda()
             ? torch::Device(torch::kCUDA, static_cast<c10::DeviceIndex>(device.index()))
             : torch::Device(torch::kCPU);
}

class Trainer {
 public:
  Trainer(const Job& job, const BatchPlan& batches, Communicator& communicator, MarkWriter& marks)
      : job_(job),
        batches_(batches),
        communicator_(communicator),
        marks_(marks),
        regions_(marks),
        gradients_(*job.network,
                   job.data.train,
                   job.normalization,
                   batches,
                   {.augmentation = job.plan.augmentation,
                    .seed = static_cast<std::uint64_t>(job.options.seed),
                    .device = job.torch_device},
                   communicator,
                   marks,
                   job.device),
        sgd_(job.network->parameters(), job.options.momentum, job.options.weight_decay),
        progress_(job.plan.updates,
                  communicator.rank() == 0 && !job.options.quiet,
                  ::isatty(STDERR_FILENO) == 1) {}

  Result<std::vector<CurvePoint>> train() {
    for (std::int64_t epoch = 0; epoch < job_.options.epochs; ++epoch) {
      JOULESCALE_TRY(train_epoch(epoch));
    }
    return std::move(curve_);
  }

  EvaluationCounts evaluate_test() {
    const Phase phase(marks_, regions_.evaluation, job_.device);
    return evaluate(
        *job_.network, job_.data.test, job_.normalization, job_.torch_device, communicator_);
  }

 private:
  Result<void> train_epoch(std::int64_t epoch) {
    job_.network->train();
    const auto order =
        epoch_order(job_.samples, static_cast<std::uint64_t>(job_.options.seed), epoch);
    std::vector<double> loss_sums;  // of this rank's samples, an update
    for (std::int64_t update = 0; update < batches_.updates_per_epoch(); ++update) {
      loss_sums.push_back(train_update(order, epoch, update));
      if (const int signal_number = interrupt_signal(); signal_number != 0) {
        return Error(ErrorCode::kCancelled, fmt::format("ended by signal {}", signal_number));
      }
    }
    communicator_.all_reduce_sum(loss_sums);
    for (std::size_t update = 0; update < loss_sums.size(); ++update) {
      const auto in_epoch = static_cast<std::int64_t>(update);
      const std::int64_t number = epoch * batches_.updates_per_epoch() + in_epoch;
      const std::int64_t samples = batches_.update_samples(in_epoch);
      curve_.push_back({.epoch = epoch,
                        .update = number,
                        .samples = samples,
                        .learning_rate = learning_rate_at(job_.plan.schedule, number),
                        .loss = loss_sums[update] / static_cast<double>(samples)});
    }
    return {};
  }

  /// Returns the sum of the losses of this rank's samples.
  double train_update(std::span<const std::uint32_t> order,
                      std::int64_t epoch,
                      std::int64_t update) {
    const std::int64_t number = epoch * batches_.updates_per_epoch() + update;
    const UpdateLoss loss = gradients_.compute(order, epoch, update);
    {
      const Phase phase(marks_, regions_.optimizer, job_.device);
      sgd_.step(learning_rate_at(job_.plan.schedule, number));
      gradients_.zero();
    }
    marks_.add(MarkCounter::kSamples, static_cast<std::uint64_t>(loss.samples));
    marks_.add(MarkCounter::kUpdates, 1);
    samples_done_ += batches_.update_samples(update);
    progress_.update(number + 1,
                     samples_done_,
                     loss.loss_sum / static_cast<double>(std::max(loss.samples, std::int64_t{1})));
    return loss.loss_sum;
  }

  const Job& job_;
  const BatchPlan& batches_;
  Communicator& communicator_;
  MarkWriter& marks_;
  PhaseRegions regions_;
  UpdateGradients gradients_;
  Sgd sgd_;
  TrainingProgress progress_;
  std::int64_t samples_done_ = 0;  // of all ranks
  std::vector<CurvePoint> curve_;
};

Result<Job> prepare(const TrainOptions& options,
                    const RankEnvironment& ranks,
                    const Device& device) {
  JOULESCALE_TRY_ASSIGN(TrainPlan plan, plan_training(options, ranks.world_size));
  auto loaded = load_image_data(options.dataset, plan.data_dir);
  if (!loaded) {  // damaged data is wrong input, whatever the reader calls it
    return Error(ErrorCode::kInvalidArgument, loaded.error().text());
  }
  ImageDataSplits data = std::move(loaded).value();
  const auto train_samples = static_cast<std::int64_t>(data.train.size());
  JOULESCALE_TRY_ASSIGN(plan, plan_training(options, ranks.world_size, train_samples));
  torch::manual_seed(static_cast<std::uint64_t>(options.seed));
  JOULESCALE_TRY_ASSIGN(auto network,
                        make_network({.name = options.model,
                                      .in_channels = data.train.channels,
                                      .num_classes = data.num_classes}));
  const torch::Device torch_device = torch_device_of(device);
  network->to(torch_device);
  auto normalization = Normalization::of(data.train);
  auto samples = stratified_subset(data.train.labels,
                                   static_cast<std::size_t>(plan.batches.num_samples),
                                   static_cast<std::uint64_t>(options.seed));
  return Job{.options = options,
             .plan = plan,
             .data = std::move(data),
             .normalization = std::move(normalization),
             .samples = std::move(samples),
             .network = std::move(network),
             .device = device,
             .torch_device = torch_device};
}

TrainingRecord make_record(const Job& job,
                           const std::vector<CurvePoint>& curve,
                           const EvaluationCounts& counts) {
  TrainingRecord record;
  record.model = job.options.model;
  record.stage = "train";
  record.dataset = job.data.name;
  record.epochs = job.options.epochs;
  record.samples = job.plan.samples;
  record.updates = job.plan.updates;
  record.local_batch_size = job.options.local_batch_size;
  record.global_batch_size = job.plan.global_batch_size;
  record.accumulation_steps = job.options.accumulation_steps;
  record.seed = job.options.seed;
  record.top1_error = 100.0 * (counts.samples - counts.top1_correct) / counts.samples;
  record.top5_error = 100.0 * (counts.samples - counts.top5_correct) / counts.samples;
  record.loss = mean_loss(curve, job.options.epochs - 1);
  record.metrics["peak_learning_rate"] = job.plan.schedule.peak;
  record.metrics["test_samples"] = counts.samples;
  if (const auto update = diverged_at(curve)) {
    record.metrics["diverged_at_update"] = static_cast<double>(*update);
  }
  return record;
}

Result<TrainResult> train_and_evaluate(const TrainOptions& options,
                                       const RankEnvironment& ranks,
                                       const Device& device,
                                       Communicator& communicator,
                                       MarkWriter& marks) {
  JOULESCALE_TRY(communicator.check_same("options", shared_options_text(options)));
  JOULESCALE_TRY_ASSIGN(const Job job, prepare(options, ranks, device));
  JOULESCALE_TRY_ASSIGN(const BatchPlan batches, BatchPlan::create(job.plan.batches));
  communicator.broadcast_from_rank0(job.network->parameters());
  communicator.broadcast_from_rank0(job.network->buffers());
  Trainer trainer(job, batches, communicator, marks);
  JOULESCALE_TRY_ASSIGN(auto curve, trainer.train());
  const EvaluationCounts counts = trainer.evaluate_test();
  TrainResult result{.record = make_record(job, curve, counts), .curve = std::move(curve)};
  communicator.barrier();  // rank 0 serves the store: it must not leave first
  return result;
}

/// train_and_evaluate(), with a failure told to the other ranks and theirs found out.
Result<TrainResult> train_in_group(const TrainOptions& options,
                                   const RankEnvironment& ranks,
                                   const Device& device,
                                   Communicator& communicator,
                                   MarkWriter& marks) {
  std::string exception_text;
  try {
    auto result = train_and_evaluate(options, ranks, device, communicator, marks);
    if (result) {
      return result;
    }
    Error error = std::move(result).error();
    if (ranks.world_size > 1) {
      error = std::move(error).with_context(fmt::format("rank {}", ranks.rank));
      communicator.report_failure(error.text());
    }
    return error;
  } catch (const c10::Error& error) {
    exception_text = error.what_without_backtrace();
  } catch (const std::exception& exception) {
    exception_text = exception.what();
  }
  if (const int signal_number = interrupt_signal(); signal_number != 0) {
    return Error(ErrorCode::kCancelled, fmt::format("ended by signal {}", signal_number));
  }
  return Error(ErrorCode::kUnavailable, communicator.explain_failure(exception_text));
}

}  // namespace

Result<TrainResult> run_training(const TrainOptions& options,
                                 const RankEnvironment& ranks,
                                 MarkWriter& marks) {
  if (auto plan = plan_training(options, ranks.world_size); !plan) {
    return std::move(plan).error();
  }
  JOULESCALE_TRY_ASSIGN(const Device device, Device::open(options.device, ranks.local_rank));
  marks.register_rank(ranks.rank, ranks.world_size, device.kind(), device.uuid());
  try {
    c10::initLogging();  // reads TORCH_CPP_LOG_LEVEL again: main() set it after torch's own start
    at::set_num_interop_threads(1);
    at::set_num_threads(static_cast<int>(options.threads));
    JOULESCALE_TRY_ASSIGN(Communicator communicator,
                          Communicator::create(ranks,
                                               device,
                                               {.timeout = std::chrono::seconds(options.timeout_s),
                                                .store_listen_fd = options.store_listen_fd}));
    return train_in_group(options, ranks, device, communicator, marks);
  } catch (const std::exception& exception) {
    return Error(ErrorCode::kInternal, exception.what());
  }
}

}  // namespace joulescale
