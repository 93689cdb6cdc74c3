// SPDX-License-Identifier: Apache-2.0
// Labelled estimates of CPU and RAM energy for machines without a counter. Each is a virtual energy
// counter, so that the monitor treats it like a real one; its inputs are recorded and printed.
//   CPU: E(t) = idle power x t + (active power - idle power) x busy thread seconds (/proc/stat);
//        default 4 W an active hardware thread (CodeCarbon's fallback for an unknown CPU), 10 % of
//        it when idle. The kernel counts busy time in ticks of 10 ms: what a tick brings above
//        the power of all threads active is spread over the time after it.
//   RAM: a constant power by the number of memory modules, guessed from the size; 5 W a module on
//        x86 (at least 10 W), 1.5 W on ARM (at least 3 W), as CodeCarbon publishes them.
#pragma once

#include <filesystem>
#include <set>

#include "joulescale/sensors/sensor.h"

namespace joulescale {

struct EstimateOptions {
  Watts cpu_thread_active{4.0};
  /// Of cpu_thread_active.
  double cpu_idle_fraction = 0.1;
  /// Power of all memory; absent: by the number of modules.
  std::optional<Watts> ram;
};

/// Modules of a machine with this much memory: 8 GiB each up to 16 GiB, 16 up to 64, 32 up to 256,
/// 64 up to 1 TiB, 128 beyond; at least 2.
int guess_memory_modules(std::uint64_t memory_bytes);
/// Full weight for the first 4 modules, 0.9 for 5-8, 0.8 for 9-16, 0.7 beyond.
Watts estimate_memory_power(int modules, bool arm);

/// Its counters start with the machine, as real ones do: another process may go on reading them.
class EstimateSensor final : public Sensor {
 public:
  /// `domains`: those to estimate, of kCpu and kDram. `root` stands for "/".
  EstimateSensor(const std::filesystem::path& root,
                 std::set<Domain> domains,
                 const EstimateOptions& options,
                 Clock& clock);

  std::string_view name() const override { return "estimate"; }
  Result<void> open() override;
  std::span<const Channel> channels() const override { return channels_; }
  std::span<const std::string> notes() const override { return notes_; }
  /// The kernel counts in hundredths of a second, and /proc/stat of a large node is slow to read.
  Nanoseconds min_read_period() const override { return std::chrono::milliseconds(100); }
  void read(std::span<RawReading> out) noexcept override;
  void close() noexcept override;

 private:
  void open_cpu();
  void open_ram();
  RawReading read_cpu() noexcept;
  RawReading read_ram() const noexcept;

  std::filesystem::path stat_file_;
  std::filesystem::path memory_file_;
  std::set<Domain> domains_;
  EstimateOptions options_;
  Clock& clock_;
  std::vector<Channel> channels_;
  std::vector<std::string> notes_;
  Watts cpu_idle_;
  Watts cpu_highest_;     // all threads active
  Watts cpu_busy_extra_;  // for each busy thread, above idle
  double busy_last_s_ = 0.0;
  std::optional<Nanoseconds> cpu_last_time_;  // of the last reading of the CPU
  Joules cpu_last_energy_;
  Watts ram_;
};

}  // namespace joulescale
