// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/nvml/scenario.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
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

Fault read_fault(std::istream& words) {
  static const std::map<std::string, Fault::What> kKinds = {
      {"energy_code", Fault::What::kEnergyCode},
      {"power_code", Fault::What::kPowerCode},
      {"energy_raw", Fault::What::kEnergyRaw},
      {"power_raw", Fault::What::kPowerRaw},
      {"stuck", Fault::What::kStuck},
      {"lost", Fault::What::kLost},
      {"slow", Fault::What::kSlow}};
  std::string times;
  std::string kind;
  words >> times >> kind;
  const std::size_t colon = times.find(':');
  Fault fault;
  fault.what = kKinds.at(kind);
  fault.from_s = std::stod(times.substr(0, colon));
  const std::string to = times.substr(colon + 1);
  fault.to_s = to == "*" ? std::numeric_limits<double>::infinity() : std::stod(to);
  words >> fault.value;
  words.clear();
  return fault;
}

PowerShape read_periodic(PowerShape::Kind kind, std::istream& words) {
  PowerShape shape;
  shape.kind = kind;
  words >> shape.low_w >> shape.high_w >> shape.period_s;
  if (kind == PowerShape::Kind::kSquare) {
    words >> shape.duty;
  }
  if (!(words >> shape.offset_s)) {
    shape.offset_s = 0.0;
    words.clear();
  }
  return shape;
}

/// Lines that say what is wrong with the device; false for other keys.
bool read_fault_line(const std::string& key, std::istream& words, Device& device) {
  if (key == "energy_codes") {
    device.energy_codes = read_codes(words);
  } else if (key == "power_codes") {
    device.power_codes = read_codes(words);
  } else if (key == "energy_zero") {
    words >> device.energy_zero_call;
  } else if (key == "counter_scale") {
    words >> device.counter_scale;
  } else if (key == "reset_at") {
    words >> device.resets_s.emplace_back();
  } else if (key == "jump_at") {
    Jump& jump = device.jumps.emplace_back();
    words >> jump.time_s >> jump.by_mj;
  } else if (key == "during") {
    device.faults.push_back(read_fault(words));
  } else if (key == "slow_ms") {
    words >> device.slow_s;
    device.slow_s /= 1e3;
  } else if (key == "hurried_ms") {
    words >> device.hurried_s;
    device.hurried_s /= 1e3;
  } else {
    return false;
  }
  return true;
}

/// Lines about power fields and metrics; false for other keys.
bool read_metric_line(const std::string& key, std::istream& words, Device& device) {
  std::string word;
  if (key == "power_fields") {
    while (words >> word) {
      device.has_instant_field |= word == "instant";
      device.has_average_field |= word == "average";
      if (word.starts_with("module:")) {
        device.module_factor = std::stod(word.substr(7));
      }
    }
  } else if (key == "metric") {
    words >> word;
    words >> device.metrics[word];
  } else if (key == "metrics_ms") {
    words >> device.metrics_s;
    device.metrics_s /= 1e3;
  } else {
    return false;
  }
  return true;
}

void read_device_line(const std::string& key,
                      std::istream& words,
                      Device& device,
                      const std::string& file,
                      const std::string& line) {
  if (key == "start_mj") {
    words >> device.start_mj;
  } else if (key == "update_ms") {
    words >> device.update_s >> device.phase_s;
    words.clear();
    device.update_s /= 1e3;
    device.phase_s /= 1e3;
  } else if (key == "limit_w") {
    words >> device.limit_w;
  } else if (key == "power") {
    device.power.points = read_curve(words);
  } else if (key == "sine") {
    device.power = read_periodic(PowerShape::Kind::kSine, words);
  } else if (key == "square") {
    device.power = read_periodic(PowerShape::Kind::kSquare, words);
  } else if (key == "mig") {
    words >> device.migs.emplace_back();
  } else if (!read_fault_line(key, words, device) && !read_metric_line(key, words, device)) {
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
    } else if (key == "init_ms") {
      words >> scenario.init_ms;
    } else if (key == "epoch_ns") {
      words >> scenario.epoch_ns.emplace();
    } else if (key == "wall_epoch_ns") {
      words >> scenario.wall_epoch_ns.emplace();
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

double refreshed_s(const Device& device, double now_s) {
  const double ticks = std::floor((now_s - device.phase_s) / device.update_s);
  return std::max(0.0, ticks * device.update_s + device.phase_s);
}

const Fault* fault_at(const Device& device, Fault::What what, double now_s) {
  for (const Fault& fault : device.faults) {
    if (fault.what == what && now_s >= fault.from_s && now_s < fault.to_s) {
      return &fault;
    }
  }
  return nullptr;
}

std::uint64_t counter_mj(const Device& device, double refreshed_time_s) {
  double time_s = refreshed_time_s;
  if (const Fault* stuck = fault_at(device, Fault::What::kStuck, time_s)) {
    time_s = stuck->from_s;
  }
  double base_s = 0.0;
  std::int64_t counter = static_cast<std::int64_t>(device.start_mj);
  for (const double reset_s : device.resets_s) {
    if (reset_s <= time_s && reset_s >= base_s) {
      base_s = reset_s;
      counter = 0;
    }
  }
  for (const Jump& jump : device.jumps) {
    counter += jump.time_s <= time_s && jump.time_s >= base_s ? jump.by_mj : 0;
  }
  const double energy_j = device.power.energy_at(time_s) - device.power.energy_at(base_s);
  counter += std::llround(energy_j * 1e3 * device.counter_scale);
  return static_cast<std::uint64_t>(std::max<std::int64_t>(counter, 0));
}

int take_code(std::deque<CodeRun>& codes) {
  if (codes.empty()) {
    return 0;
  }
  CodeRun& run = codes.front();
  const int code = run.code;
  if (run.count == 1) {
    codes.pop_front();
  } else if (run.count > 0) {
    --run.count;
  }
  return code;
}

}  // namespace fake_nvml
