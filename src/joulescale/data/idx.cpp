// SPDX-License-Identifier: Apache-2.0
#include "joulescale/data/idx.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include "joulescale/base/file.h"

namespace joulescale {
namespace {

constexpr std::size_t kMaxValues = std::size_t{1} << 30;
constexpr std::size_t kMaxDimensions = 4;
constexpr std::uint8_t kUnsignedByte = 0x08;
/// Deflate cannot compress further than 1032 to 1 (zlib's technical notes); checked before the
/// values are allocated, so that a small damaged file cannot ask for a gigabyte.
constexpr std::size_t kMaxDeflateRatio = 1032;
constexpr int kGzipWindowBits = 15 + 16;  // zlib.h, inflateInit2: gzip header and trailer

Error corrupt(std::string message) { return {ErrorCode::kCorruptData, std::move(message)}; }

/// The file's content as a stream of bytes, whether compressed or not.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Fills `out` as far as there are bytes; returns how many.
  virtual Result<std::size_t> read(std::span<std::uint8_t> out) = 0;
  /// Upper limit of the bytes that are still to come.
  virtual std::size_t max_remaining() const = 0;
  /// Error unless the content ends here, undamaged.
  virtual Result<void> finish() = 0;
};

class PlainSource : public ByteSource {
 public:
  explicit PlainSource(std::string_view bytes) : rest_(bytes) {}

  Result<std::size_t> read(std::span<std::uint8_t> out) override {
    const std::size_t count = std::min(out.size(), rest_.size());
    std::copy_n(rest_.begin(), count, out.begin());
    rest_.remove_prefix(count);
    return count;
  }
  std::size_t max_remaining() const override { return rest_.size(); }
  Result<void> finish() override {
    if (!rest_.empty()) {
      return corrupt(fmt::format("{} bytes follow the last value", rest_.size()));
    }
    return {};
  }

 private:
  std::string_view rest_;
};

class GzipSource : public ByteSource {
 public:
  explicit GzipSource(std::string_view bytes) : compressed_size_(bytes.size()) {
    // zlib does not write to its input; its interface predates const.
    stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    JOULESCALE_CHECK(inflateInit2(&stream_, kGzipWindowBits) == Z_OK);
  }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;
  ~GzipSource() override { inflateEnd(&stream_); }

  Result<std::size_t> read(std::span<std::uint8_t> out) override {
    stream_.next_out = out.data();
    stream_.avail_out = static_cast<uInt>(out.size());
    while (stream_.avail_out > 0 && !ended_) {
      const int status = inflate(&stream_, Z_NO_FLUSH);
      if (status == Z_STREAM_END) {
        ended_ = true;
      } else if (status == Z_BUF_ERROR ||
                 (status == Z_OK && stream_.avail_in == 0 && stream_.avail_out > 0)) {
        return corrupt("the gzip data are truncated");
      } else if (status != Z_OK) {
        return corrupt(fmt::format("the gzip data are damaged ({})",
                                   stream_.msg != nullptr ? stream_.msg : "zlib error"));
      }
    }
    return out.size() - stream_.avail_out;
  }
  std::size_t max_remaining() const override { return compressed_size_ * kMaxDeflateRatio; }
  Result<void> finish() override {
    std::array<std::uint8_t, 1> extra{};
    JOULESCALE_TRY_ASSIGN(const std::size_t count, read(extra));  // reads the gzip trailer too
    if (count > 0) {
      return corrupt("bytes follow the last value");
    }
    if (stream_.avail_in > 0) {
      return corrupt(fmt::format("{} bytes follow the gzip data", stream_.avail_in));
    }
    return {};
  }

 private:
  z_stream stream_{};
  std::size_t compressed_size_;
  bool ended_ = false;
};

Result<std::uint32_t> read_big_endian(ByteSource& source) {
  std::array<std::uint8_t, 4> bytes{};
  JOULESCALE_TRY_ASSIGN(const std::size_t count, source.read(bytes));
  if (count < bytes.size()) {
    return corrupt("the file ends within its header");
  }
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | std::uint32_t{bytes[3]};
}

Result<IdxArray> parse_content(ByteSource& source) {
  JOULESCALE_TRY_ASSIGN(const std::uint32_t magic, read_big_endian(source));
  const std::size_t num_dimensions = magic & 0xFFU;
  if ((magic >> 8) != kUnsignedByte || num_dimensions == 0 || num_dimensions > kMaxDimensions) {
    return corrupt(
        fmt::format("not an IDX file of unsigned bytes: it starts with {:#010x} instead of "
                    "0x00000801 to 0x0000080{}",
                    magic,
                    kMaxDimensions));
  }
  IdxArray array;
  std::size_t num_values = 1;
  for (std::size_t i = 0; i < num_dimensions; ++i) {
    JOULESCALE_TRY_ASSIGN(const std::uint32_t dimension, read_big_endian(source));
    array.dimensions.push_back(dimension);
    if (dimension == 0 || dimension > kMaxValues / num_values) {
      return corrupt(fmt::format("impossible dimensions {} (1 byte to 1 GiB in all)",
                                 fmt::join(array.dimensions, " x ")));
    }
    num_values *= dimension;
  }
  const auto too_short = [&] {
    return corrupt(fmt::format("too short for its dimensions {}: {} bytes are missing",
                               fmt::join(array.dimensions, " x "),
                               num_values - array.values.size()));
  };
  if (num_values > source.max_remaining()) {
    return too_short();
  }
  array.values.resize(num_values);
  JOULESCALE_TRY_ASSIGN(const std::size_t count, source.read(array.values));
  if (count < num_values) {
    array.values.resize(count);
    return too_short();
  }
  JOULESCALE_TRY(source.finish());
  return array;
}

}  // namespace

Result<IdxArray> parse_idx(std::string_view file_bytes) {
  if (file_bytes.empty()) {
    return corrupt("the file is empty");
  }
  if (file_bytes.starts_with("\x1f\x8b")) {
    GzipSource source(file_bytes);
    return parse_content(source);
  }
  PlainSource source(file_bytes);
  return parse_content(source);
}

Result<IdxArray> read_idx(const std::filesystem::path& file) {
  JOULESCALE_TRY_ASSIGN(const std::string bytes, read_file(file));
  auto array = parse_idx(bytes);
  if (!array) {
    return std::move(array).error().with_context(fmt::format("'{}'", file.native()));
  }
  return array;
}

}  // namespace joulescale
