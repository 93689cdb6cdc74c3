// SPDX-License-Identifier: Apache-2.0
// What the fake NVML shows: read from a text file that lies beside the library and is named after
// it (<library>.scenario). Lines, blank ones and those with # left out:
//   driver TEXT                    the driver's version
//   init CODE                      what nvmlInit_v2 returns
//   init_ms N                      how long nvmlInit_v2 takes
//   epoch_ns N                     CLOCK_MONOTONIC of the curves' time 0; else the first nvmlInit
//   gpu UUID MODEL...              starts a device; the lines below belong to it
//   start_mj N                     the energy counter at time 0
//   update_ms N [PHASE]            how often counter and power are refreshed, and when first
//   limit_w N                      the highest power limit
//   power T:W T:W ...              power in W at seconds T, straight between, constant outside; two
//                                  points of one time are a step
//   sine MEAN AMPLITUDE PERIOD [T0]       power in W, seconds (power_shape.h)
//   square LOW HIGH PERIOD DUTY [T0]
//   counter_scale X                the counter counts X times the energy
//   reset_at T                     the counter starts again from 0
//   jump_at T MJ                   the counter moves by MJ (may be negative) for good
//   during T0:T1 WHAT [N]          from T0 to T1 ("*": for ever): energy_code N, power_code N (what
//                                  the calls return), energy_raw N, power_raw N (what they give),
//                                  stuck (the counter rests), lost (every call fails with 15), slow
//                                  N (calls that begin then take N ms)
//   slow_ms N                      an energy or power call takes this long
//   hurried_ms N                   an energy call sooner than this after the last one gives 0
//   energy_codes CODExCOUNT ...    return codes of the following energy calls, then 0; "15x*" stays
//   power_codes CODExCOUNT ...     the same for power
//   energy_zero N                  the N-th energy call (from 1) gives 0, as a hurried driver does
//   mig UUID                       an instance of the device
//   power_fields instant average module:F   which power fields there are; of the module: F x the
//   power metric NAME N                  gpu_utilization, memory_utilization, memory_used,
//   sm_clock,
//                                  temperature, throttle_reasons, power_limit_mw; not supported
//                                  without
//   metrics_ms N                   a call for a metric takes this long
// The time of field values is that of the device's last refresh; before the first gpu:
//   wall_epoch_ns N                the wall clock at the curves' time 0; else the system's
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/fakes/nvml/power_shape.h"

namespace fake_nvml {

struct CodeRun {
  int code = 0;
  long count = 0;  // -1: for ever
};

/// What is wrong with a device from one time to another.
struct Fault {
  enum class What { kEnergyCode, kPowerCode, kEnergyRaw, kPowerRaw, kStuck, kLost, kSlow };
  What what = What::kLost;
  double from_s = 0.0;
  double to_s = 0.0;
  std::uint64_t value = 0;
};

struct Jump {
  double time_s = 0.0;
  std::int64_t by_mj = 0;
};

struct Device {
  std::string uuid;
  std::string model;
  std::uint64_t start_mj = 0;
  double update_s = 0.02;
  double phase_s = 0.0;
  unsigned limit_w = 0;
  PowerShape power;
  double counter_scale = 1.0;
  std::vector<double> resets_s;
  std::vector<Jump> jumps;
  std::vector<Fault> faults;
  double slow_s = 0.0;
  double hurried_s = 0.0;
  double last_energy_call_s = -1e9;
  std::deque<CodeRun> energy_codes;
  std::deque<CodeRun> power_codes;
  long energy_zero_call = 0;
  long energy_calls = 0;
  std::vector<std::string> migs;
  bool has_instant_field = false;
  bool has_average_field = false;
  double module_factor = 0.0;  // 0: no module
  std::map<std::string, unsigned long long> metrics;
  double metrics_s = 0.0;
};

struct Scenario {
  std::string driver = "999.01";
  int init_code = 0;
  long init_ms = 0;
  std::optional<std::int64_t> epoch_ns;
  std::optional<std::int64_t> wall_epoch_ns;
  std::vector<Device> devices;
};

/// Ends the program with a message when a line is wrong: a test with a wrong scenario is a bug.
Scenario read_scenario(const std::string& file);

/// The curves' time at the last refresh of the device.
double refreshed_s(const Device& device, double now_s);
/// What the energy counter shows at a refresh, faults in what is returned apart.
std::uint64_t counter_mj(const Device& device, double refreshed_time_s);
/// The fault of this kind that reigns now, if any.
const Fault* fault_at(const Device& device, Fault::What what, double now_s);
/// The next code of a sequence.
int take_code(std::deque<CodeRun>& codes);

}  // namespace fake_nvml
