// SPDX-License-Identifier: Apache-2.0
// Small IDX files for tests: a data set of the shape of Fashion-MNIST, made by a formula.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <zlib.h>

namespace joulescale::testing {

inline std::string idx_bytes(const std::vector<std::uint32_t>& dimensions,
                             std::string_view values) {
  std::string bytes = {'\0', '\0', '\x08', static_cast<char>(dimensions.size())};
  for (const std::uint32_t dimension : dimensions) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      bytes += static_cast<char>(dimension >> shift & 0xFFU);
    }
  }
  return bytes.append(values);
}

inline std::string gzip(std::string_view bytes) {
  z_stream stream{};
  deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, bytes.size()) + 64, '\0');
  std::string input(bytes);
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

inline void write_file(const std::filesystem::path& file, std::string_view bytes) {
  std::ofstream(file, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// Images of `side` x `side` whose class shows: class k is bright in row k of ten.
inline void write_image_files(const std::filesystem::path& directory,
                              std::string_view prefix,
                              std::uint32_t count,
                              std::uint32_t side) {
  std::string images;
  std::string labels;
  for (std::uint32_t sample = 0; sample < count; ++sample) {
    const std::uint32_t label = sample % 10;
    labels += static_cast<char>(label);
    for (std::uint32_t row = 0; row < side; ++row) {
      for (std::uint32_t column = 0; column < side; ++column) {
        const std::uint32_t noise = (sample * 7919 + row * 131 + column * 31) % 64;
        images += static_cast<char>((row * 10 / side == label ? 160 : 0) + noise);
      }
    }
  }
  const std::string stem = directory / prefix;
  write_file(stem + "-images-idx3-ubyte.gz", gzip(idx_bytes({count, side, side}, images)));
  write_file(stem + "-labels-idx1-ubyte.gz", gzip(idx_bytes({count}, labels)));
}

/// The four files that the data set fashion-mnist consists of.
inline void write_image_dataset(const std::filesystem::path& directory,
                                std::uint32_t train_count,
                                std::uint32_t test_count,
                                std::uint32_t side = 12) {
  write_image_files(directory, "train", train_count, side);
  write_image_files(directory, "t10k", test_count, side);
}

}  // namespace joulescale::testing
