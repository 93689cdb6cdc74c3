// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/hardware.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "joulescale/base/file.h"
#include "joulescale/base/text.h"
#include "joulescale/sensors/estimate/proc_files.h"

namespace joulescale {

HardwareRecord parse_cpuinfo(std::string_view text) {
  HardwareRecord hardware;
  std::set<std::string> sockets;
  std::set<std::pair<std::string, std::string>> cores;
  std::string socket;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) {
      continue;
    }
    const std::string_view key = trim(line.substr(0, colon));
    const std::string value(trim(line.substr(colon + 1)));
    if (key == "model name" && !hardware.cpu_model) {
      hardware.cpu_model = value;
    } else if (key == "physical id") {
      socket = value;
      sockets.insert(value);
    } else if (key == "core id") {
      cores.emplace(socket, value);
    }
  }
  if (!sockets.empty()) {
    hardware.sockets = static_cast<int>(sockets.size());
  }
  if (!cores.empty()) {
    hardware.cores = static_cast<int>(cores.size());
  }
  return hardware;
}

HardwareRecord read_hardware(const std::filesystem::path& root, std::span<const DeviceInfo> gpus) {
  HardwareRecord hardware;
  if (const auto text = read_file(root / "proc/cpuinfo")) {
    hardware = parse_cpuinfo(*text);
  }
  if (const auto text = read_file(root / "proc/meminfo")) {
    hardware.memory_bytes = parse_memory_bytes(*text);
  }
  if (!gpus.empty()) {
    hardware.gpus_per_node = static_cast<int>(gpus.size());
    std::set<std::string> models;
    for (const DeviceInfo& gpu : gpus) {
      models.insert(gpu.model);
    }
    std::string all;
    for (const std::string& model : models) {
      all += (all.empty() ? "" : ", ") + model;
    }
    hardware.gpu_model = all;
    hardware.driver = gpus.front().driver;
  }
  return hardware;
}

}  // namespace joulescale
