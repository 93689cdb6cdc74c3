// SPDX-License-Identifier: Apache-2.0
// Training, and `check`: the same options, validated only.
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "joulescale/base/file.h"
#include "joulescale/base/output.h"
#include "joulescale/models/catalogue.h"
#include "joulescale/record/run_json.h"
#include "joulescale/train/interrupt.h"
#include "joulescale/train/trainer.h"

#include "apps/joulescale-train/commands.h"

namespace joulescale {
namespace {

void add_data_options(CLI::App& app, TrainOptions& options) {
  app.add_option("--model", options.model, fmt::format("{}", fmt::join(model_names(), ", ")));
  app.add_option("--dataset", options.dataset, "Data set: fashion-mnist");
  app.add_option("--data-dir", options.data_dir, "Its directory (default: where Debian puts it)");
  app.add_option("--train-samples",
                 options.train_samples,
                 "Training samples, an equal share of each class (default: all)");
  app.add_option("--epochs", options.epochs, "Passes over the samples");
  app.add_option("--augment", options.augment, "none, flip or crop-flip");
  app.add_option("--seed", options.seed, "Of weights, subset, order and augmentation");
}

void add_batch_options(CLI::App& app, TrainOptions& options) {
  app.add_option("--local-batch-size", options.local_batch_size, "Samples a rank and step");
  app.add_option("--global-batch-size",
                 options.global_batch_size,
                 "If given: must equal local batch size x ranks x accumulation steps");
  app.add_option("--accumulation-steps", options.accumulation_steps, "Steps an update");
  app.add_option(
      "--last-batch", options.last_batch, "Samples that do not fill a global batch: drop or keep");
}

void add_optimizer_options(CLI::App& app, TrainOptions& options) {
  app.add_option("--learning-rate", options.learning_rate, "Peak rate, before scaling");
  app.add_option("--learning-rate-reference-batch",
                 options.learning_rate_reference_batch,
                 "Scale the rate by global batch size / this; 0: do not scale");
  app.add_option(
      "--learning-rate-cap", options.learning_rate_cap, "Limit of the scaled rate; 0: none");
  app.add_option("--schedule", options.schedule, "one-cycle, cosine or constant");
  app.add_option("--warmup-fraction", options.warmup_fraction, "Of the updates");
  app.add_option("--momentum", options.momentum, "Of SGD");
  app.add_option("--weight-decay", options.weight_decay, "Of SGD, on all parameters");
}

void add_run_options(CLI::App& app, TrainOptions& options) {
  app.add_option("--device", options.device, "cpu or cuda");
  app.add_option("--threads", options.threads, "Threads of this rank");
  app.add_option("--timeout-s", options.timeout_s, "Limit of each collective, in seconds");
  app.add_option("--store-listen-fd",
                 options.store_listen_fd,
                 "Rank 0: inherited socket that listens at MASTER_PORT");
  app.add_option("--curve", options.curve, "CSV file for the loss of every update");
  app.add_flag("--quiet", options.quiet, "No progress");
}

void add_options(CLI::App& app, TrainOptions& options) {
  app.option_defaults()->always_capture_default();
  add_data_options(app, options);
  add_batch_options(app, options);
  add_optimizer_options(app, options);
  add_run_options(app, options);
}

int report(const Error& error) {
  print_error(error.text());
  return exit_status_of(error);
}

void print_result(const TrainingRecord& record) {
  print_text(stdout,
             fmt::format("{} on {}: top-1 error {:.2f} %, top-5 error {:.2f} %, {}{} samples, {} "
                         "updates, local batch "
                         "size {}, global batch size {}, seed {}\n",
                         *record.model,
                         *record.dataset,
                         *record.top1_error,
                         *record.top5_error,
                         record.loss ? fmt::format("training loss {:.4f}, ", *record.loss) : "",
                         *record.samples,
                         *record.updates,
                         *record.local_batch_size,
                         *record.global_batch_size,
                         *record.seed));
}

Result<void> finish(const TrainOptions& options, const TrainResult& result, MarkWriter& marks) {
  marks.set_training(format_training_record(result.record));
  if (const auto update = diverged_at(result.curve)) {
    print_error(
        fmt::format("the training diverged: the loss is not finite from update {} on; the "
                    "run went on to its end",
                    *update));
  }
  print_result(result.record);
  if (!options.curve.empty()) {
    return write_file_atomic(options.curve, format_loss_curve(result.curve));
  }
  return {};
}

int train(const TrainOptions& options) {
  install_interrupt_handlers();
  const auto ranks = rank_environment(process_environment());
  if (!ranks) {
    return report(ranks.error());
  }
  MarkWriter marks = MarkWriter::from_environment();
  const auto result = run_training(options, *ranks, marks);
  marks.flush();
  if (!result) {
    if (result.error().code() == ErrorCode::kCancelled) {
      exit_by_interrupt(interrupt_signal());
    }
    return report(result.error());
  }
  if (ranks->rank == 0) {
    if (const auto finished = finish(options, *result, marks); !finished) {
      return report(finished.error());
    }
  }
  return 0;
}

int check(const TrainOptions& options, int world_size) {
  const auto plan = plan_training(options, world_size);
  if (!plan) {
    return report(plan.error());
  }
  return 0;
}

}  // namespace

void add_training(CLI::App& app, int& exit_status) {
  const auto options = std::make_shared<TrainOptions>();
  add_options(app, *options);
  app.callback([&app, options, &exit_status] {
    if (app.get_subcommands().empty()) {
      exit_status = train(*options);
    }
  });

  CLI::App* check_command = app.add_subcommand(
      "check", "Checks the options of a run and the presence of its data set; trains nothing");
  const auto check_options = std::make_shared<TrainOptions>();
  const auto world_size = std::make_shared<int>(1);
  add_options(*check_command, *check_options);
  check_command->add_option("--ranks", *world_size, "Ranks of the run");
  check_command->callback([check_options, world_size, &exit_status] {
    if (*world_size < 1) {
      print_error(fmt::format("--ranks {}: must be at least 1", *world_size));
      exit_status = 2;
      return;
    }
    exit_status = check(*check_options, *world_size);
  });
}

}  // namespace joulescale
