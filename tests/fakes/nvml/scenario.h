// SPDX-License-Identifier: Apache-2.0
// What the fake NVML shows: read from a text file that lies beside the library and is named after
// it (<library>.scenario). Lines, blank ones and those with # left out:
//   driver TEXT                    the driver's version
//   init CODE                      what nvmlInit_v2 returns
//   epoch_ns N                     CLOCK_MONOTONIC of the curves' time 0; else the first nvmlInit
//   gpu UUID MODEL...              starts a device; the lines below belong to it
//   start_mj N                     the energy counter at time 0
//   update_ms N                    how often counter and power are refreshed
//   limit_w N                      the highest power limit
//   power T:W T:W ...              power in W at seconds T, straight between, constant outside
//   energy_codes CODExCOUNT ...    return codes of the following energy calls, then 0; "15x*" stays
//   power_codes CODExCOUNT ...     the same for power
//   energy_zero N                  the N-th energy call (from 1) gives 0, as a hurried driver does
//   mig UUID                       an instance of the device
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace fake_nvml {

struct CurvePoint {
  double time_s = 0.0;
  double power_w = 0.0;
};

struct CodeRun {
  int code = 0;
  long count = 0;  // -1: for ever
};

struct Device {
  std::string uuid;
  std::string model;
  std::uint64_t start_mj = 0;
  double update_s = 0.02;
  unsigned limit_w = 0;
  std::vector<CurvePoint> power;
  std::deque<CodeRun> energy_codes;
  std::deque<CodeRun> power_codes;
  long energy_zero_call = 0;
  long energy_calls = 0;
  std::vector<std::string> migs;
};

struct Scenario {
  std::string driver = "999.01";
  int init_code = 0;
  std::optional<std::int64_t> epoch_ns;
  std::vector<Device> devices;
};

/// Ends the program with a message when a line is wrong: a test with a wrong scenario is a bug.
Scenario read_scenario(const std::string& file);

double power_at(const Device& device, double time_s);
/// Joules from time 0.
double energy_at(const Device& device, double time_s);
/// The next code of a sequence.
int take_code(std::deque<CodeRun>& codes);

}  // namespace fake_nvml
