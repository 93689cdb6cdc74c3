// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/nvml/scenario.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace fake_nvml {
namespace {

[[noreturn]] void wrong(const std::string& file, const std::string& line) {
  std::fprintf(stderr, "fake NVML: %s: wrong line '%s'\n", file.c_str(), line.c_str());
  std::abort();
}

std::deque<CodeRun> read_codes(std::istream& words) {
  std::deque<CodeRun> codes;
  std::string word;
  while (words >> word) {
    const std::size_t times = word.find('x');
    CodeRun run{std::stoi(word.substr(0, times)), 1};
    if (times != std::string::npos) {
      const std::string count = word.substr(times + 1);
      run.count = count == "*" ? -1 : std::stol(count);
    }
    codes.push_back(run);
  }
  return codes;
}

std::vector<CurvePoint> read_curve(std::istream& words) {
  std::vector<CurvePoint> curve;
  std::string word;
  while (words >> word) {
    const std::size_t colon = word.find(':');
    curve.push_back({std::stod(word.substr(0, colon)), std::stod(word.substr(colon + 1))});
  }
  return curve;
}

void read_device_line(const std::string& key,
                      std::istream& words,
                      Device& device,
                      const std::string& file,
                      const std::string& line) {
  if (key == "start_mj") {
    words >> device.start_mj;
  } else if (key == "update_ms") {
    words >> device.update_s;
    device.update_s /= 1e3;
  } else if (key == "limit_w") {
    words >> device.limit_w;
  } else if (key == "power") {
    device.power = read_curve(words);
  } else if (key == "energy_codes") {
    device.energy_codes = read_codes(words);
  } else if (key == "power_codes") {
    device.power_codes = read_codes(words);
  } else if (key == "energy_zero") {
    words >> device.energy_zero_call;
  } else if (key == "mig") {
    words >> device.migs.emplace_back();
  } else {
    wrong(file, line);
  }
}

}  // namespace

Scenario read_scenario(const std::string& file) {
  Scenario scenario;
  std::ifstream in(file);
  std::string line;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    std::string key;
    if (!(words >> key) || key.front() == '#') {
      continue;
    }
    if (key == "driver") {
      words >> scenario.driver;
    } else if (key == "init") {
      words >> scenario.init_code;
    } else if (key == "epoch_ns") {
      words >> scenario.epoch_ns.emplace();
    } else if (key == "gpu") {
      Device& device = scenario.devices.emplace_back();
      words >> device.uuid >> std::ws;
      std::getline(words, device.model);
    } else if (!scenario.devices.empty()) {
      read_device_line(key, words, scenario.devices.back(), file, line);
    } else {
      wrong(file, line);
    }
  }
  return scenario;
}

double power_at(const Device& device, double time_s) {
  const auto& curve = device.power;
  if (curve.empty()) {
    return 0.0;
  }
  if (time_s <= curve.front().time_s) {
    return curve.front().power_w;
  }
  for (std::size_t i = 1; i < curve.size(); ++i) {
    if (time_s <= curve[i].time_s) {
      const double share = (time_s - curve[i - 1].time_s) / (curve[i].time_s - curve[i - 1].time_s);
      return curve[i - 1].power_w + share * (curve[i].power_w - curve[i - 1].power_w);
    }
  }
  return curve.back().power_w;
}

double energy_at(const Device& device, double time_s) {
  // Piecewise linear power: the trapezoid between two neighbouring times is exact.
  std::vector<double> times = {0.0, time_s};
  for (const CurvePoint& point : device.power) {
    if (point.time_s > 0.0 && point.time_s < time_s) {
      times.push_back(point.time_s);
    }
  }
  std::sort(times.begin(), times.end());
  double energy_j = 0.0;
  for (std::size_t i = 1; i < times.size(); ++i) {
    energy_j += (power_at(device, times[i - 1]) + power_at(device, times[i])) / 2.0 *
                (times[i] - times[i - 1]);
  }
  return energy_j;
}

int take_code(std::deque<CodeRun>& codes) {
  if (codes.empty()) {
    return 0;
  }
  CodeRun& run = codes.front();
  const int code = run.code;
  if (run.count > 0 && --run.count == 0) {
    codes.pop_front();
  }
  return code;
}

}  // namespace fake_nvml
