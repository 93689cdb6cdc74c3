// SPDX-License-Identifier: Apache-2.0
#include "joulescale/base/frame_log.h"

#include <fcntl.h>

#include <cerrno>

#include <fmt/format.h>
#include <zlib.h>

#include "joulescale/base/file.h"

namespace joulescale {
namespace {

constexpr std::size_t kMagicSize = 8;
constexpr std::size_t kHeaderSize = 9;
constexpr std::size_t kFlushThreshold = std::size_t{64} * 1024;

void append_u32(std::string& bytes, std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) {
    bytes.push_back(static_cast<char>((value >> shift) & 0xFF));
  }
}

std::uint32_t checksum(std::uint8_t type, std::string_view payload) {
  const uLong seed = crc32(crc32(0, nullptr, 0), &type, 1);
  return static_cast<std::uint32_t>(crc32(
      seed, reinterpret_cast<const Bytef*>(payload.data()), static_cast<uInt>(payload.size())));
}

}  // namespace

FrameWriter::FrameWriter(UniqueFd fd, std::string name)
    : fd_(std::move(fd)), name_(std::move(name)) {}

Result<FrameWriter> FrameWriter::create(const std::filesystem::path& path, std::string_view magic) {
  JOULESCALE_CHECK(magic.size() == kMagicSize);
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600));
  if (!fd.valid()) {
    return io_error("create", path.native(), errno);
  }
  FrameWriter writer(std::move(fd), path.native());
  writer.buffer_ = magic;
  JOULESCALE_TRY(writer.flush());
  return writer;
}

Result<void> FrameWriter::append(std::uint8_t type, std::string_view payload) {
  JOULESCALE_CHECK(payload.size() <= kMaxFramePayload);
  if (!fd_.valid()) {
    return Error(ErrorCode::kCancelled, fmt::format("'{}' is closed", name_));
  }
  append_u32(buffer_, static_cast<std::uint32_t>(payload.size()));
  append_u32(buffer_, checksum(type, payload));
  buffer_.push_back(static_cast<char>(type));
  buffer_.append(payload);
  if (buffer_.size() >= kFlushThreshold) {
    return flush();
  }
  return {};
}

Result<void> FrameWriter::flush() {
  if (buffer_.empty() || !fd_.valid()) {
    return {};
  }
  auto written = write_all(fd_.get(), buffer_, name_);
  buffer_.clear();
  return written;
}

Result<void> FrameWriter::sync() {
  JOULESCALE_TRY(flush());
  if (fd_.valid() && ::fdatasync(fd_.get()) != 0) {
    return io_error("sync", name_, errno);
  }
  return {};
}

void FrameWriter::abandon() {
  buffer_.clear();
  fd_.reset();
}

Result<std::size_t> visit_frame_log(
    const std::filesystem::path& path,
    std::string_view magic,
    const std::function<void(std::uint8_t type, std::string_view payload)>& visit) {
  JOULESCALE_CHECK(magic.size() == kMagicSize);
  constexpr std::size_t kLogLimit = std::size_t{8} << 30;
  JOULESCALE_TRY_ASSIGN(const std::string content, read_file(path, kLogLimit));
  if (content.size() < kMagicSize) {
    return content.size();
  }
  if (std::string_view(content).substr(0, kMagicSize) != magic) {
    return Error(
        ErrorCode::kCorruptData,
        fmt::format("'{}' is not a file of this kind (its first bytes differ)", path.native()));
  }
  std::string_view rest = std::string_view(content).substr(kMagicSize);
  while (!rest.empty()) {
    PayloadReader header(rest.substr(0, std::min(rest.size(), kHeaderSize)));
    const std::uint32_t length = header.u32();
    const std::uint32_t expected = header.u32();
    const std::uint8_t type = header.u8();
    if (!header.ok() || length > kMaxFramePayload || rest.size() - kHeaderSize < length) {
      break;
    }
    const std::string_view payload = rest.substr(kHeaderSize, length);
    if (checksum(type, payload) != expected) {
      break;
    }
    visit(type, payload);
    rest.remove_prefix(kHeaderSize + length);
  }
  return rest.size();
}

Result<FrameLog> read_frame_log(const std::filesystem::path& path, std::string_view magic) {
  FrameLog log;
  JOULESCALE_TRY_ASSIGN(
      log.torn_bytes,
      visit_frame_log(path, magic, [&](std::uint8_t type, std::string_view payload) {
        log.frames.push_back({type, std::string(payload)});
      }));
  return log;
}

PayloadWriter& PayloadWriter::u8(std::uint8_t value) {
  bytes_.push_back(static_cast<char>(value));
  return *this;
}

PayloadWriter& PayloadWriter::u32(std::uint32_t value) {
  append_u32(bytes_, value);
  return *this;
}

PayloadWriter& PayloadWriter::u64(std::uint64_t value) {
  append_u32(bytes_, static_cast<std::uint32_t>(value));
  append_u32(bytes_, static_cast<std::uint32_t>(value >> 32));
  return *this;
}

PayloadWriter& PayloadWriter::text(std::string_view value) {
  u32(static_cast<std::uint32_t>(value.size()));
  bytes_.append(value);
  return *this;
}

std::string_view PayloadReader::take(std::size_t count) {
  if (!ok_ || rest_.size() < count) {
    ok_ = false;
    return {};
  }
  const std::string_view taken = rest_.substr(0, count);
  rest_.remove_prefix(count);
  return taken;
}

std::uint8_t PayloadReader::u8() {
  const std::string_view bytes = take(1);
  return bytes.empty() ? 0 : static_cast<std::uint8_t>(bytes[0]);
}

std::uint32_t PayloadReader::u32() {
  std::uint32_t value = 0;
  int shift = 0;
  for (const char byte : take(4)) {
    value |= static_cast<std::uint32_t>(static_cast<unsigned char>(byte)) << shift;
    shift += 8;
  }
  return value;
}

std::uint64_t PayloadReader::u64() {
  const std::uint64_t low = u32();
  const std::uint64_t high = u32();
  return ok_ ? high << 32 | low : 0;
}

std::string_view PayloadReader::text() {
  const std::uint32_t length = u32();
  return take(length);
}

}  // namespace joulescale
