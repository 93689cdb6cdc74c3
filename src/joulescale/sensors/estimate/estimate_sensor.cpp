// SPDX-License-Identifier: Apache-2.0
#include "joulescale/sensors/estimate/estimate_sensor.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "joulescale/base/file.h"
#include "joulescale/base/unique_fd.h"
#include "joulescale/sensors/estimate/proc_files.h"

namespace joulescale {
namespace {

constexpr std::uint64_t kGibibyte = std::uint64_t{1} << 30;
constexpr double kMicrojoulesPerJoule = 1e6;
#if defined(__aarch64__) || defined(__arm__)
constexpr bool kArm = true;
#else
constexpr bool kArm = false;
#endif

std::uint64_t microjoules(Joules energy) {
  return static_cast<std::uint64_t>(std::llround(energy.value() * kMicrojoulesPerJoule));
}

Channel estimate_channel(Domain domain,
                         Watts highest_power,
                         std::map<std::string, std::string> inputs) {
  Channel channel;
  channel.name = fmt::format("estimate/{}", domain_name(domain));
  channel.domain = domain;
  channel.overlap_group = channel.name;
  channel.provenance = Provenance::kEstimated;
  channel.plausible_power = highest_power;
  channel.instrument_accuracy = "unknown: a model, not an instrument";
  channel.inputs = std::move(inputs);
  return channel;
}

/// Busy thread seconds of the first line of /proc/stat; the line is short, whatever the machine.
std::optional<double> read_busy_seconds(const std::filesystem::path& file) noexcept {
  std::array<char, 512> buffer;
  const auto times = parse_proc_stat(read_start(file.c_str(), buffer));
  if (!times) {
    return std::nullopt;
  }
  return tick_seconds(times->busy_ticks);
}

}  // namespace

int guess_memory_modules(std::uint64_t memory_bytes) {
  const auto size = static_cast<double>(memory_bytes) / static_cast<double>(kGibibyte);
  double module = 128;
  for (const auto& [up_to, module_size] :
       {std::pair{16.0, 8.0}, {64.0, 16.0}, {256.0, 32.0}, {1024.0, 64.0}}) {
    if (size <= up_to) {
      module = module_size;
      break;
    }
  }
  return std::max(2, static_cast<int>(std::min(std::ceil(size / module), 1e6)));
}

Watts estimate_memory_power(int modules, bool arm) {
  const double weight = std::min(modules, 4) + 0.9 * std::clamp(modules - 4, 0, 4) +
                        0.8 * std::clamp(modules - 8, 0, 8) + 0.7 * std::max(modules - 16, 0);
  return arm ? Watts(std::max(3.0, 1.5 * weight)) : Watts(std::max(10.0, 5.0 * weight));
}

EstimateSensor::EstimateSensor(const std::filesystem::path& root,
                               std::set<Domain> domains,
                               const EstimateOptions& options,
                               Clock& clock)
    : stat_file_(root / "proc/stat"),
      memory_file_(root / "proc/meminfo"),
      domains_(std::move(domains)),
      options_(options),
      clock_(clock) {}

Result<void> EstimateSensor::open() {
  close();
  if (!may_read("estimate")) {
    return {};
  }
  if (domains_.contains(Domain::kCpu)) {
    open_cpu();
  }
  if (domains_.contains(Domain::kDram)) {
    open_ram();
  }
  if (!channels_.empty()) {
    return {};
  }
  return Error(ErrorCode::kUnavailable, fmt::format("{}", fmt::join(notes_, "; ")));
}

void EstimateSensor::open_cpu() {
  const auto text = read_file(stat_file_);
  const auto times = text ? parse_proc_stat(*text) : std::nullopt;
  if (!times || times->num_threads == 0) {
    notes_.push_back(fmt::format("no CPU estimate: '{}' cannot be read", stat_file_.native()));
    return;
  }
  const int threads = times->num_threads;
  const Watts thread_idle = options_.cpu_thread_active * options_.cpu_idle_fraction;
  cpu_idle_ = thread_idle * threads;
  cpu_busy_extra_ = options_.cpu_thread_active - thread_idle;
  cpu_highest_ = options_.cpu_thread_active * threads;
  busy_last_s_ = tick_seconds(times->busy_ticks);
  cpu_last_time_.reset();
  channels_.push_back(estimate_channel(
      Domain::kCpu,
      cpu_highest_,
      {{"model", "idle power x time + (active - idle power of a thread) x busy thread seconds"},
       {"hardware_threads", fmt::format("{}", threads)},
       {"thread_active_w", fmt::format("{}", options_.cpu_thread_active.value())},
       {"thread_idle_w", fmt::format("{}", thread_idle.value())},
       {"busy_time", "/proc/stat, the whole node"}}));
}

void EstimateSensor::open_ram() {
  if (options_.ram) {
    ram_ = *options_.ram;
    channels_.push_back(estimate_channel(
        Domain::kDram,
        ram_,
        {{"model", "constant power"}, {"power_w", fmt::format("{}", ram_.value())}}));
    return;
  }
  const auto text = read_file(memory_file_);
  const auto memory = text ? parse_memory_bytes(*text) : std::nullopt;
  if (!memory) {
    notes_.push_back(fmt::format("no RAM estimate: '{}' cannot be read", memory_file_.native()));
    return;
  }
  const int modules = guess_memory_modules(*memory);
  ram_ = estimate_memory_power(modules, kArm);
  channels_.push_back(estimate_channel(Domain::kDram,
                                       ram_,
                                       {{"model", "constant power by the number of modules"},
                                        {"memory_bytes", fmt::format("{}", *memory)},
                                        {"modules_guessed", fmt::format("{}", modules)},
                                        {"power_w", fmt::format("{}", ram_.value())}}));
}

void EstimateSensor::read(std::span<RawReading> out) noexcept {
  for (std::size_t i = 0; i < channels_.size() && i < out.size(); ++i) {
    out[i] = channels_[i].domain == Domain::kCpu ? read_cpu() : read_ram();
  }
}

RawReading EstimateSensor::read_cpu() noexcept {
  RawReading reading;
  reading.before = clock_.monotonic_now();
  const auto busy = read_busy_seconds(stat_file_);
  reading.after = clock_.monotonic_now();
  if (busy) {
    busy_last_s_ = std::max(busy_last_s_, *busy);  // a CPU taken offline lowers the kernel's sum
    Joules energy = cpu_idle_ * to_seconds(reading.after) + cpu_busy_extra_ * Seconds(busy_last_s_);
    if (cpu_last_time_) {
      energy = std::min(
          energy, cpu_last_energy_ + cpu_highest_ * to_seconds(reading.after - *cpu_last_time_));
    }
    cpu_last_time_ = reading.after;
    cpu_last_energy_ = energy;
    reading.raw = microjoules(energy);
    reading.status = ReadStatus::kOk;
  }
  return reading;
}

RawReading EstimateSensor::read_ram() const noexcept {
  const Nanoseconds now = clock_.monotonic_now();
  return {ReadStatus::kOk, microjoules(ram_ * to_seconds(now)), now, now};
}

void EstimateSensor::close() noexcept {
  forget_claims();
  channels_.clear();
  notes_.clear();
}

}  // namespace joulescale
