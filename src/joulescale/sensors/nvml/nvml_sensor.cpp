// SPDX-License-Identifier: Apache-2.0
#include "joulescale/sensors/nvml/nvml_sensor.h"

#include <algorithm>

#include <fmt/format.h>

#include "joulescale/sensors/nvml/visible_devices.h"

namespace joulescale {
namespace {

constexpr Watts kDefaultPlausiblePower{4000.0};
constexpr Watts kLeastPlausiblePower{1000.0};
constexpr double kMilliwattsPerWatt = 1e3;
/// Of the average field, and of nvmlDeviceGetPowerUsage on the GPUs where it shows that (about a
/// second on Ampere's GA10x, Ada and Hopper; arXiv 2312.02741).
constexpr Nanoseconds kAveraging = std::chrono::seconds(1);
constexpr TickWatch kTickWatch = {std::chrono::milliseconds(10), std::chrono::milliseconds(250)};
constexpr const char* kAccuracy =
    "NVIDIA states +-5 W or 5 %; published steady-state errors are -6 to +11 % (arXiv 2312.02741)";

/// mJ; the sentinels of drivers that have no value are "not supported".
NvmlReturn read_energy(const NvmlFunctions& nvml, NvmlDevice device, std::uint64_t& raw) noexcept {
  unsigned long long energy_mj = 0;
  const NvmlReturn code = nvml_call(nvml.total_energy_mj, device, &energy_mj);
  raw = energy_mj;
  const bool no_value = energy_mj == ~0ULL || energy_mj == kNvmlNoValue32;
  return code == kNvmlSuccess && no_value ? kNvmlNotSupported : code;
}

Watts plausible_power(const NvmlFunctions& nvml, NvmlDevice device) {
  unsigned least = 0;
  unsigned most = 0;
  if (nvml_call(nvml.power_limits_mw, device, &least, &most) != kNvmlSuccess || most == 0 ||
      most == kNvmlNoValue32) {
    return kDefaultPlausiblePower;
  }
  return std::max(Watts(kPlausibleByLimit * most / kMilliwattsPerWatt), kLeastPlausiblePower);
}

}  // namespace

NvmlSensor::NvmlSensor(NvmlOptions options, Clock& clock)
    : options_(std::move(options)), clock_(clock) {}

Result<void> NvmlSensor::open() {
  const auto kept = std::move(library_);  // opened anew, it need not be initialised anew
  close();
  auto loaded = NvmlLibrary::load(options_.library);
  if (!loaded) {
    Error error = std::move(loaded).error();
    const bool are_named = names_gpus(options_.cuda_visible_devices);
    if (are_named) {
      error = std::move(error).with_context("CUDA_VISIBLE_DEVICES names GPUs");
    }
    if (are_named || error.code() != ErrorCode::kUnavailable) {  // the GPUs may be there
      missing_.push_back(error.text());
    }
    return error;
  }
  library_ = std::move(loaded).value();
  if (auto found = find_devices(); !found) {
    library_.reset();
    return found;
  }
  if (!channels_.empty()) {
    return {};
  }
  library_.reset();
  if (!elsewhere().empty()) {
    return {};
  }
  std::vector<std::string> all = missing_;
  all.insert(all.end(), notes_.begin(), notes_.end());
  const std::string reasons = fmt::format("{}", fmt::join(all, "; "));
  if (devices_.empty() && missing_.empty()) {
    return Error(ErrorCode::kUnavailable, "the NVIDIA driver lists no GPU");
  }
  return Error(ErrorCode::kUnavailable,
               reasons.empty() ? "CUDA_VISIBLE_DEVICES hides every GPU; use --devices all to "
                                 "measure them nevertheless"
                               : reasons);
}

Result<void> NvmlSensor::find_devices() {
  JOULESCALE_TRY_ASSIGN(
      std::vector<NvmlGpu> gpus,
      find_nvml_gpus(library_->functions(), options_.cuda_visible_devices, notes_, missing_));
  for (NvmlGpu& gpu : gpus) {
    const bool is_own = gpu.info.visible || options_.all_devices;
    gpu.info.inherited = !is_own && may_inherit(gpu.info.uuid);
    if (gpu.info.inherited || (is_own && may_read(gpu.info.uuid))) {
      add_channels(gpu);
    }
    devices_.push_back(std::move(gpu.info));
  }
  return {};
}

void NvmlSensor::add_channels(NvmlGpu& gpu) {
  std::uint64_t energy_mj = 0;
  const NvmlReturn energy_code = read_energy(library_->functions(), gpu.device, energy_mj);
  if (energy_code == kNvmlSuccess) {
    Channel& channel = add_channel(gpu, "energy", std::nullopt);
    channel.quantity = Quantity::kEnergy;
    channel.behavior = Behavior::kCounter;
    channel.unit = RawUnit::kMillijoule;
    channel.provenance = Provenance::kMeasured;
  }
  NvmlReturn power_code = kNvmlSuccess;
  const auto power = find_power(gpu.device, kNvmlScopeGpu, power_code);
  if (power) {
    add_channel(gpu, power_kind_name(power->kind()), power);
  }
  // Which of the two is there decides whether its energy is known.
  std::vector<std::string>& notes = energy_code == kNvmlSuccess || power ? notes_ : missing_;
  if (energy_code != kNvmlSuccess) {
    notes.push_back(fmt::format("{} gives no total energy (code {})", gpu.info.uuid, energy_code));
  }
  if (!power) {
    notes.push_back(fmt::format("{} gives no power (code {})", gpu.info.uuid, power_code));
  }
  add_module_channel(gpu, power);
  if (gpu.info.mig && gpu.info.measured) {
    notes_.push_back(
        fmt::format("{} is split by MIG: its energy is that of the whole GPU", gpu.info.uuid));
  }
}

/// The instant field before the average one: it follows the power, and its integral needs no second
/// to follow a step.
std::optional<NvmlPower> NvmlSensor::find_power(NvmlDevice device,
                                                unsigned scope,
                                                NvmlReturn& code) {
  for (const NvmlPowerKind kind :
       {NvmlPowerKind::kInstant, NvmlPowerKind::kAverage, NvmlPowerKind::kUsage}) {
    if (kind == NvmlPowerKind::kUsage && scope != kNvmlScopeGpu) {
      break;
    }
    if (auto power = NvmlPower::probe(library_->functions(), device, kind, scope, clock_, code)) {
      return power;
    }
  }
  return std::nullopt;
}

/// GPU and CPU on one module (Grace Hopper): its power holds that of both, so it is shown and never
/// added. Boards without a module answer with the GPU's own power or with none.
void NvmlSensor::add_module_channel(NvmlGpu& gpu, const std::optional<NvmlPower>& gpu_power) {
  NvmlReturn code = kNvmlSuccess;
  const auto power = find_power(gpu.device, kNvmlScopeModule, code);
  if (!power || (gpu_power && gpu_power->power_mw() == power->power_mw())) {
    return;
  }
  Channel& channel = add_channel(
      gpu, power->kind() == NvmlPowerKind::kInstant ? "module_instant" : "module_average", power);
  channel.domain = Domain::kModule;
  channel.overlap_group = gpu.info.uuid + "/module";
}

/// A power channel of the GPU; callers change what differs.
Channel& NvmlSensor::add_channel(NvmlGpu& gpu,
                                 std::string_view name,
                                 const std::optional<NvmlPower>& power) {
  gpu.info.measured = true;
  sources_.push_back({gpu.device, power});
  Channel& channel = channels_.emplace_back();
  channel.name = fmt::format("nvml/{}/{}", gpu.info.uuid, name);
  channel.quantity = Quantity::kPower;
  channel.behavior = Behavior::kGauge;
  channel.domain = Domain::kGpu;
  channel.unit = RawUnit::kMilliwatt;
  channel.overlap_group = gpu.info.uuid;
  if (power && power->kind() != NvmlPowerKind::kInstant) {
    channel.averaging = kAveraging;
  }
  channel.plausible_power = plausible_power(library_->functions(), gpu.device);
  channel.provenance = Provenance::kIntegrated;
  channel.instrument_accuracy = kAccuracy;
  return channel;
}

std::optional<TickWatch> NvmlSensor::tick_watch() const { return kTickWatch; }

void NvmlSensor::read(std::span<RawReading> out) noexcept {
  if (library_ == nullptr) {
    return;
  }
  for (std::size_t i = 0; i < channels_.size() && i < out.size(); ++i) {
    out[i] = sources_[i].power ? sources_[i].power->read() : read_counter(sources_[i].device);
  }
}

RawReading NvmlSensor::read_counter(NvmlDevice device) const noexcept {
  RawReading reading;
  reading.before = clock_.monotonic_now();
  const NvmlReturn code = read_energy(library_->functions(), device, reading.raw);
  reading.after = clock_.monotonic_now();
  // A counter that counts since the driver was loaded is not 0: drivers that are asked too soon
  // after the last time answer so.
  const bool hurried = code == kNvmlSuccess && reading.raw == 0;
  reading.status = hurried ? ReadStatus::kMissing : read_status_of(code);
  return reading;
}

void NvmlSensor::close() noexcept {
  forget_claims();
  channels_.clear();
  sources_.clear();
  devices_.clear();
  notes_.clear();
  missing_.clear();
  library_.reset();
}

}  // namespace joulescale
