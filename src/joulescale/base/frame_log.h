// SPDX-License-Identifier: Apache-2.0
// Append-only log of checksummed frames, the form of journals and marks. A process killed at any
// moment leaves at most one torn frame at the end, which the reader reports and skips.
//
// File: 8 bytes of magic, then frames. Frame: payload length (u32), CRC-32 of type and payload
// (u32, as zlib computes it), type (u8), payload. Integers are little endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "joulescale/base/error.h"
#include "joulescale/base/unique_fd.h"

namespace joulescale {

inline constexpr std::size_t kMaxFramePayload = std::size_t{1} << 20;

/// Not thread safe. Frames are buffered until flush() or until the buffer is full; each write(2)
/// holds whole frames only.
class FrameWriter {
 public:
  /// Creates the file (it must not exist) and writes the magic, which must have 8 bytes.
  static Result<FrameWriter> create(const std::filesystem::path& path, std::string_view magic);

  FrameWriter(FrameWriter&&) = default;
  FrameWriter& operator=(FrameWriter&&) = default;

  /// Buffers one frame. A payload above kMaxFramePayload is a programmer error.
  Result<void> append(std::uint8_t type, std::string_view payload);
  /// Hands all frames to the kernel. After an error the file may end in a torn frame.
  Result<void> flush();
  /// flush(), then fsync.
  Result<void> sync();
  /// flush(), and no more frames. Tells what the file system tells at the end only (a full disk far
  /// away).
  Result<void> close();
  /// Bytes of the file and of what is buffered.
  std::size_t size() const { return written_ + buffer_.size(); }
  /// Stops writing: later frames are refused. For a child after fork.
  void abandon();

 private:
  FrameWriter(UniqueFd fd, std::string name);
  UniqueFd fd_;
  std::string name_;
  std::string buffer_;
  std::size_t written_ = 0;
};

/// Reads a log one frame at a time, in constant memory, from the start to the first frame that is
/// torn or damaged. Frames that a writer appends meanwhile are seen. Not thread safe.
class FrameReader {
 public:
  /// A file that is shorter than the magic counts as empty and torn; one with another magic is an
  /// error.
  static Result<FrameReader> open(const std::filesystem::path& path, std::string_view magic);

  /// False at the end. Errors: the file cannot be read.
  Result<bool> next();
  // After next() was true, until it is called again:
  std::uint8_t type() const { return type_; }
  std::string_view payload() const { return payload_; }
  /// After next() was false: bytes after the last whole frame; 0 after an orderly end.
  std::size_t torn_bytes() const { return torn_bytes_; }

 private:
  FrameReader(UniqueFd fd, std::string name);
  /// Until `wanted` bytes are buffered or the file ends.
  Result<void> fill(std::size_t wanted);
  Result<void> count_rest();

  UniqueFd fd_;
  std::string name_;
  std::string buffer_;
  std::size_t begin_ = 0;  // of what is not yet read in buffer_
  std::uint8_t type_ = 0;
  std::string_view payload_;
  std::size_t torn_bytes_ = 0;
  bool ended_ = false;
};

struct Frame {
  std::uint8_t type = 0;
  std::string payload;
};

struct FrameLog {
  std::vector<Frame> frames;
  std::size_t torn_bytes = 0;
};

/// All frames that a FrameReader gives; for short logs.
Result<FrameLog> read_frame_log(const std::filesystem::path& path, std::string_view magic);

/// Little-endian encoding of frame payloads.
class PayloadWriter {
 public:
  PayloadWriter& u8(std::uint8_t value);
  PayloadWriter& u32(std::uint32_t value);
  PayloadWriter& u64(std::uint64_t value);
  PayloadWriter& i64(std::int64_t value) { return u64(static_cast<std::uint64_t>(value)); }
  /// 7 bits a byte, the lowest first; the highest bit says that more follow.
  PayloadWriter& varint(std::uint64_t value);
  /// Signed, small values of either sign short: 0, -1, 1, -2... as 0, 1, 2, 3...
  PayloadWriter& zigzag(std::int64_t value);
  /// Length (u32), then the bytes.
  PayloadWriter& text(std::string_view value);
  /// Bytes as they are.
  PayloadWriter& append(std::string_view bytes);
  const std::string& bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }

 private:
  std::string bytes_;
};

/// Reads in the same order. After the first value that the payload does not hold, ok() is false and
/// every value reads as 0 or "".
class PayloadReader {
 public:
  explicit PayloadReader(std::string_view payload) : rest_(payload) {}
  std::uint8_t u8();
  std::uint32_t u32();
  std::uint64_t u64();
  std::int64_t i64() { return static_cast<std::int64_t>(u64()); }
  std::uint64_t varint();
  std::int64_t zigzag();
  std::string_view text();
  bool ok() const { return ok_; }
  /// ok() and nothing left.
  bool at_end() const { return ok_ && rest_.empty(); }

 private:
  std::string_view take(std::size_t count);
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace joulescale
