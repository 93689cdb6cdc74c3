// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/marks/mark_writer.h"

#include <unistd.h>

#include <cstdlib>
#include <utility>

#include <fmt/format.h>

namespace joulescale {
namespace {
constexpr Nanoseconds kFlushInterval = std::chrono::seconds(1);
}  // namespace

MarkWriter::MarkWriter(FrameWriter log, const Clock& clock)
    : log_(std::move(log)), clock_(&clock), last_flush_(clock.monotonic_now()) {}

MarkWriter::~MarkWriter() { flush(); }

MarkWriter MarkWriter::from_environment(const Clock& clock) {
  const char* directory = std::getenv(kRunVariable);
  if (directory == nullptr || *directory == '\0') {
    return {};
  }
  auto writer = create(directory, clock);
  return writer ? std::move(writer).value() : MarkWriter();
}

Result<MarkWriter> MarkWriter::create(const std::filesystem::path& directory, const Clock& clock) {
  const Nanoseconds now = clock.monotonic_now();
  const std::string name = fmt::format("{}-{}{}", ::getpid(), now.count(), kMarksSuffix);
  JOULESCALE_TRY_ASSIGN(auto log, FrameWriter::create(directory / name, kMarksMagic));
  MarkWriter writer(std::move(log), clock);
  writer.append(MarkType::kProcess,
                PayloadWriter().u32(static_cast<std::uint32_t>(::getpid())).i64(now.count()));
  return writer;
}

void MarkWriter::register_rank(int rank,
                               int world_size,
                               std::string_view device_kind,
                               std::string_view device_uuid) {
  append(MarkType::kRank,
         PayloadWriter()
             .u32(static_cast<std::uint32_t>(rank))
             .u32(static_cast<std::uint32_t>(world_size))
             .text(device_kind)
             .text(device_uuid));
  flush();
}

RegionId MarkWriter::region(std::string_view name) {
  if (const auto known = regions_.find(name); known != regions_.end()) {
    return known->second;
  }
  const auto id = static_cast<RegionId>(regions_.size());
  regions_.emplace(name, id);
  append(MarkType::kName, PayloadWriter().u32(id).text(name));
  return id;
}

void MarkWriter::begin(RegionId region) {
  if (log_) {
    append(MarkType::kBegin, PayloadWriter().u32(region).i64(clock_->monotonic_now().count()));
  }
}

void MarkWriter::end(RegionId region) {
  if (log_) {
    append(MarkType::kEnd, PayloadWriter().u32(region).i64(clock_->monotonic_now().count()));
  }
}

void MarkWriter::add(MarkCounter counter, std::uint64_t increment) {
  if (!log_) {
    return;
  }
  const Nanoseconds now = clock_->monotonic_now();
  append(MarkType::kCounter,
         PayloadWriter().u8(static_cast<std::uint8_t>(counter)).u64(increment).i64(now.count()));
  if (now - last_flush_ >= kFlushInterval) {
    last_flush_ = now;
    flush();
  }
}

void MarkWriter::set_training(std::string_view json) {
  append(MarkType::kTraining, PayloadWriter().text(json));
  flush();
}

void MarkWriter::flush() {
  if (log_ && !log_->flush()) {
    log_.reset();
  }
}

void MarkWriter::append(MarkType type, const PayloadWriter& payload) {
  if (log_ && !log_->append(static_cast<std::uint8_t>(type), payload.bytes())) {
    log_.reset();
  }
}

}  // namespace joulescale
