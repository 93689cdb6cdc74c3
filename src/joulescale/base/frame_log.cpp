// SPDX-License-Identifier: Apache-2.0
#include "joulescale/base/frame_log.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>
#include <zlib.h>

#include "joulescale/base/file.h"

namespace joulescale {
namespace {

constexpr std::size_t kMagicSize = 8;
constexpr std::size_t kHeaderSize = 9;
constexpr std::size_t kFlushThreshold = std::size_t{64} * 1024;
constexpr std::size_t kReadSize = std::size_t{64} * 1024;

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
  written_ += buffer_.size();
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

Result<void> FrameWriter::close() {
  JOULESCALE_TRY(flush());
  if (fd_.valid() && ::close(fd_.release()) != 0) {
    return io_error("close", name_, errno);
  }
  return {};
}

void FrameWriter::abandon() {
  buffer_.clear();
  fd_.reset();
}

FrameReader::FrameReader(UniqueFd fd, std::string name)
    : fd_(std::move(fd)), name_(std::move(name)) {}

Result<FrameReader> FrameReader::open(const std::filesystem::path& path, std::string_view magic) {
  JOULESCALE_CHECK(magic.size() == kMagicSize);
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) {
    return io_error("read", path.native(), errno);
  }
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return Error(ErrorCode::kCorruptData, fmt::format("'{}' is not a regular file", path.native()));
  }
  FrameReader reader(std::move(fd), path.native());
  JOULESCALE_TRY(reader.fill(kMagicSize));
  if (reader.buffer_.size() < kMagicSize) {
    return reader;  // the first frame is torn
  }
  if (!reader.buffer_.starts_with(magic)) {
    return Error(
        ErrorCode::kCorruptData,
        fmt::format("'{}' is not a file of this kind (its first bytes differ)", path.native()));
  }
  reader.begin_ = kMagicSize;
  return reader;
}

Result<void> FrameReader::fill(std::size_t wanted) {
  buffer_.erase(0, begin_);
  begin_ = 0;
  while (buffer_.size() < wanted) {
    const std::size_t had = buffer_.size();
    buffer_.resize(had + std::max(wanted - had, kReadSize));
    const ssize_t count = ::read(fd_.get(), buffer_.data() + had, buffer_.size() - had);
    buffer_.resize(had + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count < 0 && errno != EINTR) {
      return io_error("read", name_, errno);
    }
    if (count == 0) {
      break;
    }
  }
  return {};
}

Result<bool> FrameReader::next() {
  if (ended_) {
    return false;
  }
  const auto rest = [this] { return std::string_view(buffer_).substr(begin_); };
  if (rest().size() < kHeaderSize) {
    JOULESCALE_TRY(fill(kHeaderSize));
  }
  PayloadReader header(rest().substr(0, kHeaderSize));
  const std::uint32_t length = header.u32();
  const std::uint32_t expected = header.u32();
  const std::uint8_t type = header.u8();
  if (header.ok() && length <= kMaxFramePayload) {
    if (rest().size() < kHeaderSize + length) {
      JOULESCALE_TRY(fill(kHeaderSize + length));
    }
    if (rest().size() >= kHeaderSize + length) {
      const std::string_view payload = rest().substr(kHeaderSize, length);
      if (checksum(type, payload) == expected) {
        type_ = type;
        payload_ = payload;
        begin_ += kHeaderSize + length;
        return true;
      }
    }
  }
  ended_ = true;
  JOULESCALE_TRY(count_rest());
  return false;
}

Result<void> FrameReader::count_rest() {
  do {
    torn_bytes_ += buffer_.size() - begin_;
    begin_ = buffer_.size();
    JOULESCALE_TRY(fill(1));
  } while (!buffer_.empty());
  return {};
}

Result<FrameLog> read_frame_log(const std::filesystem::path& path, std::string_view magic) {
  JOULESCALE_TRY_ASSIGN(FrameReader reader, FrameReader::open(path, magic));
  FrameLog log;
  while (true) {
    JOULESCALE_TRY_ASSIGN(const bool more, reader.next());
    if (!more) {
      break;
    }
    log.frames.push_back({reader.type(), std::string(reader.payload())});
  }
  log.torn_bytes = reader.torn_bytes();
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

PayloadWriter& PayloadWriter::varint(std::uint64_t value) {
  while (value >= 0x80) {
    bytes_.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  bytes_.push_back(static_cast<char>(value));
  return *this;
}

PayloadWriter& PayloadWriter::zigzag(std::int64_t value) {
  return varint(static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63));
}

PayloadWriter& PayloadWriter::text(std::string_view value) {
  u32(static_cast<std::uint32_t>(value.size()));
  bytes_.append(value);
  return *this;
}

PayloadWriter& PayloadWriter::append(std::string_view bytes) {
  bytes_.append(bytes);
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

std::uint64_t PayloadReader::varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const std::uint8_t byte = u8();
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if ((byte & 0x80) == 0) {
      return ok_ ? value : 0;
    }
  }
  ok_ = false;
  return 0;
}

std::int64_t PayloadReader::zigzag() {
  const std::uint64_t value = varint();
  return static_cast<std::int64_t>(value >> 1 ^ (~(value & 1) + 1));
}

std::string_view PayloadReader::text() {
  const std::uint32_t length = u32();
  return take(length);
}

}  // namespace joulescale
