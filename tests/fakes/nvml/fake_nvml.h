// SPDX-License-Identifier: Apache-2.0
// Controls of the fake NVML, found with dlsym like its other functions.
#pragma once

extern "C" {
/// From now on the curves stand at this time, in seconds.
void fake_nvml_set_time(double time_s);
/// How often a function was called ("nvmlDeviceGetPowerUsage").
long fake_nvml_calls(const char* function);
}
