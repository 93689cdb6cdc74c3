// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/training_merge.h"

#include "joulescale/record/run_json.h"

namespace joulescale {
namespace {

template <typename T>
void overlay(const std::optional<T>& from, std::optional<T>& into) {
  if (from) {
    into = from;
  }
}

}  // namespace

void overlay_training(const TrainingRecord& from, TrainingRecord& into) {
  overlay(from.model, into.model);
  overlay(from.stage, into.stage);
  overlay(from.dataset, into.dataset);
  overlay(from.epochs, into.epochs);
  overlay(from.samples, into.samples);
  overlay(from.updates, into.updates);
  overlay(from.local_batch_size, into.local_batch_size);
  overlay(from.global_batch_size, into.global_batch_size);
  overlay(from.accumulation_steps, into.accumulation_steps);
  overlay(from.seed, into.seed);
  overlay(from.top1_error, into.top1_error);
  overlay(from.top5_error, into.top5_error);
  overlay(from.loss, into.loss);
  for (const auto& [name, value] : from.metrics) {
    into.metrics[name] = value;
  }
  for (const auto& [name, phase] : from.phases) {
    into.phases[name] = phase;
  }
}

Result<void> merge_training_json(std::string_view json, TrainingRecord& into) {
  auto record = parse_training_record(json);
  if (!record) {
    return std::move(record).error().with_context("training record in marks");
  }
  overlay_training(*record, into);
  return {};
}

}  // namespace joulescale
