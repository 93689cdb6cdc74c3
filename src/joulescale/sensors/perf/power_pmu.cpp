// SPDX-License-Identifier: Apache-2.0
#include "joulescale/sensors/perf/power_pmu.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "joulescale/base/file.h"
#include "joulescale/base/text.h"

namespace joulescale {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kCpuInfoFile = std::size_t{16} << 20;
constexpr int kMostCpus = 65536;
/// The unit of every energy event of this PMU: 2^-32 J, as the kernel writes it.
constexpr double kScale = 0x1p-32;

struct KnownEvent {
  const char* name;
  Domain domain;
};
constexpr std::array kKnownEvents = {KnownEvent{"energy-pkg", Domain::kCpu},
                                     KnownEvent{"energy-ram", Domain::kDram},
                                     KnownEvent{"energy-cores", Domain::kCpuCore},
                                     KnownEvent{"energy-gpu", Domain::kCpuUncore},
                                     KnownEvent{"energy-psys", Domain::kPlatform}};

std::optional<int> parse_cpu(std::string_view text) {
  const auto number = parse_uint64(text);
  return number && *number < kMostCpus ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

std::optional<int> topology(const fs::path& root, int cpu, const char* file) {
  const auto text =
      read_small_file(root / fmt::format("sys/devices/system/cpu/cpu{}/topology/{}", cpu, file));
  return text ? parse_cpu(*text) : std::nullopt;
}

/// AMD's package counter is one a package, whatever the kernel calls a die there: kernels before
/// 6.11 list a CPU for each die, and all of them show the same joules.
bool has_one_counter_a_package(const fs::path& root) {
  const auto text = read_file(root / "proc/cpuinfo", kCpuInfoFile);
  return text && (text->find("AuthenticAMD") != std::string::npos ||
                  text->find("HygonGenuine") != std::string::npos);
}

Result<std::vector<PowerCpu>> find_cpus(const fs::path& root, const std::vector<int>& mask) {
  std::map<int, std::map<int, int>> packages;  // package, die: the first CPU of the mask in it
  for (const int cpu : mask) {
    const auto package = topology(root, cpu, "physical_package_id");
    if (!package) {
      return Error(ErrorCode::kUnavailable,
                   fmt::format("the package of CPU {} is not known, so its energy might count "
                               "twice; mount /sys/devices/system/cpu into the container",
                               cpu));
    }
    packages[*package].emplace(topology(root, cpu, "die_id").value_or(0), cpu);
  }
  const bool one_a_package = has_one_counter_a_package(root);
  std::vector<PowerCpu> cpus;
  for (const auto& [package, dies] : packages) {
    bool first = true;
    for (const auto& [die, cpu] : dies) {
      if (first || !one_a_package) {
        const bool whole = dies.size() == 1 || one_a_package;
        cpus.push_back({cpu,
                        whole ? fmt::format("package-{}", package)
                              : fmt::format("package-{}-die-{}", package, die),
                        package,
                        first});
      }
      first = false;
    }
  }
  return cpus;
}

/// The event, or why it is left out.
Result<PowerEvent> read_event(const fs::path& events, const KnownEvent& known) {
  const auto config = read_small_file(events / known.name);
  const auto number = config ? parse_event_config(*config) : std::nullopt;
  if (!number) {
    return Error(ErrorCode::kCorruptData,
                 fmt::format("{}: '{}' is no event number", known.name, config.value_or("")));
  }
  const auto unit = read_small_file(events / fmt::format("{}.unit", known.name));
  const auto scale_text = read_small_file(events / fmt::format("{}.scale", known.name));
  const auto scale = scale_text ? parse_double(*scale_text) : std::nullopt;
  if (unit != "Joules" || scale != kScale) {
    return Error(
        ErrorCode::kUnsupported,
        fmt::format("{}: counts in steps of '{}' '{}', not of 2^-32 Joules as documented; use "
                    "powercap instead",
                    known.name,
                    scale_text.value_or("unknown"),
                    unit.value_or("unknown")));
  }
  return PowerEvent{known.name, known.domain, *number};
}

}  // namespace

std::optional<std::vector<int>> parse_cpu_list(std::string_view text) {
  std::vector<int> cpus;
  text = trim(text);
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, comma);
    const std::size_t dash = std::min(part.find('-'), part.size());
    const auto first = parse_cpu(part.substr(0, dash));
    const auto last = dash == part.size() ? first : parse_cpu(part.substr(dash + 1));
    if (!first || !last || *last < *first || comma + 1 == text.size()) {
      return std::nullopt;
    }
    for (int cpu = *first; cpu <= *last; ++cpu) {
      cpus.push_back(cpu);
    }
    if (cpus.size() > kMostCpus) {
      return std::nullopt;
    }
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return cpus.empty() ? std::nullopt : std::optional(cpus);
}

std::optional<std::uint64_t> parse_event_config(std::string_view text) {
  constexpr std::string_view kPrefix = "event=0x";
  text = trim(text);
  if (!text.starts_with(kPrefix)) {
    return std::nullopt;
  }
  text.remove_prefix(kPrefix.size());
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  const bool whole = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  return whole ? std::optional(number) : std::nullopt;
}

Result<PowerPmu> find_power_pmu(const fs::path& root) {
  const fs::path folder = root / "sys/bus/event_source/devices/power";
  const auto type_text = read_small_file(folder / "type");
  if (!type_text) {
    return Error(ErrorCode::kUnavailable,
                 fmt::format("no '{}'; a virtual machine hides it, a kernel without "
                             "CONFIG_PERF_EVENTS_INTEL_RAPL has none: load the module with "
                             "'modprobe rapl', or measure on the host",
                             folder.native()));
  }
  PowerPmu pmu;
  const auto type = parse_uint64(*type_text);
  const auto mask_text = read_small_file(folder / "cpumask");
  const auto mask = mask_text ? parse_cpu_list(*mask_text) : std::nullopt;
  if (!type || *type > UINT32_MAX || !mask) {
    return Error(ErrorCode::kCorruptData,
                 fmt::format("'{}': type '{}' or cpumask '{}' is not as documented; measure with "
                             "powercap instead",
                             folder.native(),
                             *type_text,
                             mask_text.value_or("")));
  }
  pmu.type = static_cast<std::uint32_t>(*type);
  std::error_code error;
  for (const KnownEvent& known : kKnownEvents) {
    if (!fs::exists(folder / "events" / known.name, error)) {
      continue;
    }
    auto event = read_event(folder / "events", known);
    if (event) {
      pmu.events.push_back(std::move(event).value());
    } else {
      pmu.notes.push_back(event.error().text());
    }
  }
  if (pmu.events.empty()) {
    return Error(ErrorCode::kUnsupported,
                 pmu.notes.empty()
                     ? fmt::format("'{}' has no energy event that we know; measure with powercap "
                                   "instead",
                                   folder.native())
                     : fmt::format("{}", fmt::join(pmu.notes, "; ")));
  }
  JOULESCALE_TRY_ASSIGN(pmu.cpus, find_cpus(root, *mask));
  return pmu;
}

}  // namespace joulescale
