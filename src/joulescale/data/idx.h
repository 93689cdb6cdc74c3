// SPDX-License-Identifier: Apache-2.0
// The IDX format of MNIST and its successors (http://yann.lecun.com/exdb/mnist, "file formats"):
// two zero bytes, a type code, the number of dimensions, each dimension as a big-endian 32-bit
// number, then the values. Unsigned bytes (type 0x08) only; plain or gzip-compressed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "joulescale/base/error.h"

namespace joulescale {

struct IdxArray {
  std::vector<std::uint32_t> dimensions;  // slowest first
  std::vector<std::uint8_t> values;       // as many as the product of the dimensions
};

/// Parses a whole file's bytes. Errors (kCorruptData) do not name the file: damaged or truncated
/// gzip, wrong magic, dimensions of zero or above 1 GiB in all, too few or too many values.
Result<IdxArray> parse_idx(std::string_view file_bytes);

/// Reads and parses a file; every error names it.
Result<IdxArray> read_idx(const std::filesystem::path& file);

}  // namespace joulescale
