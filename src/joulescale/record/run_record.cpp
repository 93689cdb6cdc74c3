// SPDX-License-Identifier: Apache-2.0
#include "joulescale/record/run_record.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "joulescale/base/text.h"

namespace joulescale {
namespace {

struct FlagMeaning {
  std::string_view flag;
  std::string_view meaning;
};

/// The flags of docs/run.schema.json.
constexpr std::array<FlagMeaning, 16> kFlagMeanings = {{
    {"device_lost", "a device stopped answering; its energy from then on is not known"},
    {"counter_reset", "a counter started anew; the energy of that moment is in the uncertainty"},
    {"wrap_ambiguous", "a counter may have gone round more often than was seen"},
    {"counter_power_disagree",
     "the energy counter and the integrated power differ; one of them is wrong"},
    {"late_start", "a source came after the command had started"},
    {"clock_step", "the wall clock was set during the run"},
    {"suspend", "the machine slept during the run"},
    {"gap", "a source was not read, gave no value or stood still for a second or more"},
    {"shared_node",
     "whole node, not exclusive: other programs kept CPUs busy, their energy is in it"},
    {"launcher_wrapped",
     "the command is a launcher: its other nodes, if it has any, are not measured"},
    {"recovered", "finished afterwards: a monitor was killed, or ranks did not come"},
    {"no_sensor", "no energy counter was read, or one that should count was not"},
    {"disk_full", "the journal could not be written to its end"},
    {"mig_parent", "energy is that of the whole GPU, of which the run had a part"},
    {"devices_not_visible",
     "GPUs that the command could not see are in the energy, not in the hours"},
    {"duplicate_source", "a source was read twice and counted once"},
}};

}  // namespace

std::string_view flag_meaning(std::string_view flag) {
  const auto* const found = std::ranges::find(kFlagMeanings, flag, &FlagMeaning::flag);
  return found == kFlagMeanings.end() ? "" : found->meaning;
}

std::string_view provenance_name(Provenance provenance) {
  switch (provenance) {
    case Provenance::kMeasured:
      return "measured";
    case Provenance::kIntegrated:
      return "integrated";
    case Provenance::kEstimated:
      return "estimated";
  }
  return "unknown";
}

std::optional<Provenance> provenance_from_name(std::string_view name) {
  for (const Provenance provenance :
       {Provenance::kMeasured, Provenance::kIntegrated, Provenance::kEstimated}) {
    if (provenance_name(provenance) == name) {
      return provenance;
    }
  }
  return std::nullopt;
}

std::optional<Nanoseconds> parse_baseline_length(std::string_view text) {
  const auto length = parse_duration(text);
  const bool allowed =
      length && *length >= std::chrono::seconds(1) && *length <= std::chrono::hours(1);
  return allowed ? length : std::nullopt;
}

bool failed(const RankRecord& rank) { return rank.signal || rank.exit_status.value_or(0) != 0; }

const RankRecord* first_failure(std::span<const RankRecord> ranks) {
  // Times of one form compare as texts; a rank whose end nobody saw comes after the others.
  const auto order = [](const RankRecord& rank) {
    return std::tuple(rank.ended_at.empty(), std::string_view(rank.ended_at), rank.rank);
  };
  const RankRecord* first = nullptr;
  for (const RankRecord& rank : ranks) {
    if (failed(rank) && (first == nullptr || order(rank) < order(*first))) {
      first = &rank;
    }
  }
  return first;
}

bool succeeded(const RunRecord& run) { return run.exit_status == 0 && !run.signal; }

}  // namespace joulescale
