// SPDX-License-Identifier: Apache-2.0
// What an NVIDIA GPU really answers, as a Markdown page: counter against power, idle and under
// load, update periods, structs and field identifiers, identity. Stands alone (scripts/device-check
// compiles it with nothing but a C++ compiler) and declares NVML and CUDA by itself, so that it
// does not repeat a mistake of the product's own declarations.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/device/gpu_load.h"
#include "tests/device/nvml_calls.h"

namespace {

using namespace nvml_calls;  // whose only user this program is
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// "20.1 ms (148)": the median time between two values that differ, and how many there were.
std::string period_text(const std::vector<double>& changes_s) {
  if (changes_s.size() < 3) {
    return "not seen (" + std::to_string(changes_s.size()) + " changes)";
  }
  std::vector<double> gaps;
  for (std::size_t i = 1; i < changes_s.size(); ++i) {
    gaps.push_back(changes_s[i] - changes_s[i - 1]);
  }
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.1f ms (%zu)", median(gaps) * 1e3, gaps.size());
  return text.data();
}

void print_update_periods(const Nvml& nvml, const Gpu& gpu, const char* phase, double seconds) {
  for (std::size_t quantity = 0; quantity < kQuantities.size(); ++quantity) {
    std::vector<double> changes_s;
    std::vector<double> stamps_s;
    std::optional<double> last;
    long polls = 0;
    long failed = 0;
    long zeros = 0;
    int last_code = kSuccess;
    const auto begin = Clock::now();
    while (seconds_since(begin) < seconds) {
      const Answer answer = ask(nvml, gpu.device, quantity);
      ++polls;
      if (answer.code != kSuccess) {
        ++failed;
        last_code = answer.code;
      } else {
        zeros += answer.value == 0.0 ? 1 : 0;
        if (last && *last != answer.value) {
          changes_s.push_back(seconds_since(begin));
        }
        last = answer.value;
        const double stamp_s = static_cast<double>(answer.timestamp_us.value_or(0)) * 1e-6;
        if (answer.timestamp_us && (stamps_s.empty() || stamps_s.back() != stamp_s)) {
          stamps_s.push_back(stamp_s);
        }
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    const bool answered = failed < polls;
    const std::string code =
        last_code == kSuccess ? "" : " (code " + std::to_string(last_code) + ")";
    std::printf("| %s | %s | %s | %s | %s | %ld | %ld%s | %ld |\n",
                gpu.uuid.c_str(),
                phase,
                kQuantities[quantity],
                answered ? period_text(changes_s).c_str() : "no value",
                stamps_s.empty() ? "-" : period_text(stamps_s).c_str(),
                polls,
                failed,
                code.c_str(),
                zeros);
  }
}

/// The counter's mean power beside that of each power quantity, by the trapezoid rule.
void print_counter_against_power(const Nvml& nvml,
                                 const std::vector<Gpu>& gpus,
                                 const char* phase,
                                 double seconds) {
  struct Track {
    std::optional<double> first_s, first_j, last_s, last_j, last_w;
    double integral_j = 0.0;
    double span_s = 0.0;
  };
  std::vector<std::array<Track, kQuantities.size()>> tracks(gpus.size());
  const auto begin = Clock::now();
  while (seconds_since(begin) < seconds) {
    for (std::size_t g = 0; g < gpus.size(); ++g) {
      for (std::size_t quantity = 0; quantity < kQuantities.size(); ++quantity) {
        const double before = seconds_since(begin);
        const Answer answer = ask(nvml, gpus[g].device, quantity);
        const double now = (before + seconds_since(begin)) / 2.0;
        Track& track = tracks[g][quantity];
        if (answer.code != kSuccess) {
          continue;
        }
        if (quantity == kCounter) {
          // From tick to tick, so that the counter's steps do not count as an error.
          if (track.last_j && *track.last_j != answer.value) {
            if (!track.first_j) {
              track.first_s = now;
              track.first_j = answer.value;
            }
            track.last_s = now;
          }
          track.last_j = answer.value;
          continue;
        }
        if (track.last_w) {
          track.integral_j += (*track.last_w + answer.value) / 2.0 * (now - *track.last_s);
          track.span_s += now - *track.last_s;
        }
        track.last_w = answer.value;
        track.last_s = now;
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  for (std::size_t g = 0; g < gpus.size(); ++g) {
    const Track& counter = tracks[g][kCounter];
    const bool ticked = counter.first_s && *counter.last_s > *counter.first_s;
    const double counter_w =
        ticked ? (*counter.last_j - *counter.first_j) / (*counter.last_s - *counter.first_s) : 0.0;
    for (std::size_t quantity = 1; quantity < kQuantities.size(); ++quantity) {
      const Track& power = tracks[g][quantity];
      if (!ticked || power.span_s <= 0.0) {
        std::printf("| %s | %s | %s | no value | no value | - |\n",
                    gpus[g].uuid.c_str(),
                    phase,
                    kQuantities[quantity]);
        continue;
      }
      const double power_w = power.integral_j / power.span_s;
      std::printf("| %s | %s | %s | %.2f | %.2f | %.4f |\n",
                  gpus[g].uuid.c_str(),
                  phase,
                  kQuantities[quantity],
                  counter_w,
                  power_w,
                  power_w > 0.0 ? counter_w / power_w : std::nan(""));
    }
  }
}

/// Several fields in one call, with a guard behind them: a layout that differs from ours would move
/// codes and time stamps of the second field on, or write beyond the end.
void print_fields(const Nvml& nvml, const Gpu& gpu) {
  std::puts("\n## Fields\n");
  std::printf("nvmlFieldValue_t as declared here: %zu bytes.\n\n", sizeof(FieldValue));
  if (nvml.fields == nullptr) {
    std::puts("The library has no nvmlDeviceGetFieldValues.");
    return;
  }
  struct Asked {
    unsigned field;
    unsigned scope;
    const char* name;
  };
  constexpr std::array kAsked = {
      Asked{kFieldTotalEnergy, 0, "total energy, mJ"},
      Asked{kFieldEnergy, kScopeGpu, "energy, GPU, mJ"},
      Asked{kFieldEnergy, kScopeModule, "energy, module, mJ"},
      Asked{kFieldPowerAverage, kScopeGpu, "average power, GPU, mW"},
      Asked{kFieldPowerAverage, kScopeModule, "average power, module, mW"},
      Asked{kFieldPowerAverage, kScopeMemory, "average power, memory, mW"},
      Asked{kFieldPowerInstant, kScopeGpu, "instant power, GPU, mW"},
      Asked{kFieldPowerInstant, kScopeModule, "instant power, module, mW"},
      Asked{kFieldPowerInstant, kScopeMemory, "instant power, memory, mW"}};
  constexpr unsigned long long kGuard = 0x5A5A5A5A5A5A5A5AULL;
  std::array<FieldValue, kAsked.size() + 1> values{};
  for (std::size_t i = 0; i < kAsked.size(); ++i) {
    values[i].field = kAsked[i].field;
    values[i].scope = kAsked[i].scope;
  }
  values.back().raw = kGuard;
  const int code = nvml.fields(gpu.device, static_cast<int>(kAsked.size()), values.data());
  const auto wall_us = std::chrono::duration_cast<std::chrono::microseconds>(
                           std::chrono::system_clock::now().time_since_epoch())
                           .count();
  bool fits = code == kSuccess && values.back().raw == kGuard && values.back().timestamp_us == 0;
  std::puts("| field | scope | meaning | code | value type | value | age of its time stamp [ms] |");
  std::puts("| --- | --- | --- | --- | --- | --- | --- |");
  for (std::size_t i = 0; i < kAsked.size(); ++i) {
    const FieldValue& value = values[i];
    const double age_ms = static_cast<double>(wall_us - value.timestamp_us) * 1e-3;
    fits = fits && value.field == kAsked[i].field && value.code >= 0 && value.code <= 999 &&
           (value.code != kSuccess || std::abs(age_ms) < 60e3);
    if (value.code == kSuccess) {
      std::printf("| %u | %u | %s | 0 | %d | %.0f | %.1f |\n",
                  kAsked[i].field,
                  kAsked[i].scope,
                  kAsked[i].name,
                  value.type,
                  number_of(value),
                  age_ms);
    } else {
      std::printf("| %u | %u | %s | %d | - | - | - |\n",
                  kAsked[i].field,
                  kAsked[i].scope,
                  kAsked[i].name,
                  value.code);
    }
  }
  std::printf("\nCall's code: %d. The struct's layout fits: %s.\n", code, fits ? "yes" : "NO");
}

void print_identity(const Nvml& nvml, const std::vector<Gpu>& gpus, const gpu_load::Cuda& cuda) {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  std::printf("driver %s, NVML %s, CUDA_VISIBLE_DEVICES %s\n\n",
              nvml.driver == nullptr ? "unknown" : text_of(nvml.driver).c_str(),
              nvml.version == nullptr ? "unknown" : text_of(nvml.version).c_str(),
              visible == nullptr ? "not set" : ("'" + std::string(visible) + "'").c_str());
  std::puts("| NVML index | UUID | model | MIG mode | MIG instances |");
  std::puts("| --- | --- | --- | --- | --- |");
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    unsigned current = 0;
    unsigned pending = 0;
    const bool has_mode =
        nvml.mig_mode != nullptr && nvml.mig_mode(gpus[i].device, &current, &pending) == kSuccess;
    std::string instances;
    unsigned count = 0;
    if (nvml.mig_count != nullptr && nvml.mig_by_index != nullptr &&
        nvml.mig_count(gpus[i].device, &count) == kSuccess) {
      for (unsigned m = 0; m < count; ++m) {
        Device instance = nullptr;
        if (nvml.mig_by_index(gpus[i].device, m, &instance) == kSuccess) {
          instances += (instances.empty() ? "" : ", ") + text_of([&](char* t, unsigned size) {
                         return nvml.uuid(instance, t, size);
                       });
        }
      }
    }
    std::printf("| %zu | %s | %s | %s | %s |\n",
                i,
                gpus[i].uuid.c_str(),
                gpus[i].name.c_str(),
                !has_mode      ? "unknown"
                : current == 0 ? "off"
                               : "on",
                instances.empty() ? "-" : instances.c_str());
  }
  std::puts("\n| CUDA ordinal | UUID | NVML index |");
  std::puts("| --- | --- | --- |");
  if (cuda.uuids().empty()) {
    std::printf("| - | CUDA shows none: %s | - |\n", cuda.reason().c_str());
  }
  for (std::size_t i = 0; i < cuda.uuids().size(); ++i) {
    const std::string& uuid = cuda.uuids()[i];
    const auto same = std::ranges::find(gpus, uuid, &Gpu::uuid);
    std::printf("| %zu | %s | %s |\n",
                i,
                uuid.c_str(),
                same == gpus.end() ? "none (an instance, or another driver)"
                                   : std::to_string(same - gpus.begin()).c_str());
  }
}

void print_phase_headers(const char* title, const char* columns, int num_columns) {
  std::printf("\n## %s\n\n%s\n|", title, columns);
  for (int i = 0; i < num_columns; ++i) {
    std::printf(" --- |");
  }
  std::printf("\n");
}

struct Options {
  std::string nvml_library = "libnvidia-ml.so.1";
  std::string cuda_library = "libcuda.so.1";
  double seconds = 30.0;  // of each comparison; update periods take a tenth for each quantity
};

Options parse(const std::vector<std::string_view>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); i += 2) {
    const std::string value(i + 1 < arguments.size() ? arguments[i + 1] : "");
    if (arguments[i] == "--nvml-library" && !value.empty()) {
      options.nvml_library = value;
    } else if (arguments[i] == "--cuda-library" && !value.empty()) {
      options.cuda_library = value;
    } else if (arguments[i] == "--seconds" && std::atof(value.c_str()) > 0.0) {
      options.seconds = std::min(std::atof(value.c_str()), 60.0);
    } else {
      give_up(
          "usage: scripts/device-check [--nvml-library FILE] [--cuda-library FILE] "
          "[--seconds 1..60]");
    }
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse({argv + 1, argv + argc});
  const Nvml nvml = load_nvml(options.nvml_library);
  const std::vector<Gpu> gpus = find_gpus(nvml);
  gpu_load::Cuda cuda(options.cuda_library);
  const auto loaded =
      cuda.uuids().empty() ? gpus.end() : std::ranges::find(gpus, cuda.uuids().front(), &Gpu::uuid);

  std::puts("## GPUs\n");
  print_identity(nvml, gpus, cuda);
  print_fields(nvml, gpus.front());

  const double watch_s = options.seconds / 10.0;
  constexpr const char* kUpdates =
      "| GPU | phase | quantity | a new value every (median, count) | a new time stamp every | "
      "polls | failed | zeros |";
  constexpr const char* kComparison =
      "| GPU | phase | power by | counter [W] | power [W] | counter / power |";
  print_phase_headers("Update periods, idle", kUpdates, 8);
  print_update_periods(nvml, gpus.front(), "idle", watch_s);
  print_phase_headers("Counter against power, idle", kComparison, 6);
  print_counter_against_power(nvml, gpus, "idle", options.seconds);
  std::fflush(stdout);

  if (loaded == gpus.end() || !cuda.start_load()) {
    std::printf("\nLoad not tested: %s.\n",
                cuda.reason().empty() ? "CUDA's first device is none of NVML's GPUs"
                                      : cuda.reason().c_str());
  } else {
    std::this_thread::sleep_for(
        std::chrono::duration<double>(watch_s));  // power rises for a second
    print_phase_headers("Update periods, under load", kUpdates, 8);
    print_update_periods(nvml, *loaded, "load", watch_s);
    print_phase_headers("Counter against power, under load", kComparison, 6);
    print_counter_against_power(nvml, {*loaded}, "load", options.seconds);
    cuda.stop_load();
    if (!cuda.reason().empty()) {
      std::printf("\nThe load broke off: %s.\n", cuda.reason().c_str());
    }
  }
  nvml.shutdown();
  return 0;
}
