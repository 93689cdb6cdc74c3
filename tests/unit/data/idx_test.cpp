// SPDX-License-Identifier: Apache-2.0
#include "joulescale/data/idx.h"

#include <string>
#include <string_view>

#include <gmock/gmock.h>

#include "tests/support/idx_files.h"
#include "tests/support/temp_dir.h"

namespace joulescale {
namespace {

using ::testing::ElementsAre;
using testing::gzip;
using ::testing::HasSubstr;
using testing::idx_bytes;

std::string error_of(std::string_view bytes) {
  const auto parsed = parse_idx(bytes);
  return parsed ? "no error" : parsed.error().text();
}

TEST(Idx, PlainAndCompressedFilesGiveTheSameArray) {
  const std::string bytes = idx_bytes({2, 3}, "abcdef");
  for (const std::string& file : {bytes, gzip(bytes)}) {
    const auto array = parse_idx(file);
    ASSERT_TRUE(array.ok()) << array.error().text();
    EXPECT_THAT(array->dimensions, ElementsAre(2, 3));
    EXPECT_THAT(array->values, ElementsAre('a', 'b', 'c', 'd', 'e', 'f'));
  }
}

TEST(Idx, EveryTruncationIsAnError) {
  const std::string plain = idx_bytes({4, 5}, "abcdefghijklmnopqrst");
  for (const std::string& whole : {plain, gzip(plain)}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      EXPECT_FALSE(parse_idx(std::string_view(whole).substr(0, size)).ok()) << size << " bytes";
    }
  }
}

TEST(Idx, TruncatedGzipIsCalledThat) {
  const std::string whole = gzip(idx_bytes({1000}, std::string(1000, 'x')));
  EXPECT_THAT(error_of(std::string_view(whole).substr(0, whole.size() - 9)),
              HasSubstr("truncated"));
}

TEST(Idx, DamagedGzipIsAnError) {
  std::string whole = gzip(idx_bytes({1000}, std::string(1000, 'x')));
  whole[whole.size() - 6] ^= 1;  // in the checksum
  EXPECT_THAT(error_of(whole), HasSubstr("damaged"));
}

TEST(Idx, WrongMagicIsAnError) {
  EXPECT_THAT(error_of("hello, world"), HasSubstr("not an IDX file"));
  std::string floats = idx_bytes({1}, "abcd");
  floats[2] = '\x0D';
  EXPECT_THAT(error_of(floats), HasSubstr("unsigned bytes"));
}

TEST(Idx, TrailingBytesAreAnError) {
  const std::string bytes = idx_bytes({2}, "ab");
  EXPECT_THAT(error_of(bytes + "c"), HasSubstr("1 bytes follow the last value"));
  EXPECT_THAT(error_of(gzip(bytes + "c")), HasSubstr("bytes follow the last value"));
  EXPECT_THAT(error_of(gzip(bytes) + "c"), HasSubstr("1 bytes follow the gzip data"));
}

TEST(Idx, AbsurdDimensionsAreRefusedBeforeAnyAllocation) {
  EXPECT_THAT(error_of(idx_bytes({0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, "")),
              HasSubstr("impossible dimensions"));
  EXPECT_THAT(error_of(idx_bytes({0, 5}, "")), HasSubstr("impossible dimensions"));
  EXPECT_THAT(error_of(idx_bytes({1U << 30}, "")), HasSubstr("bytes are missing"));
  EXPECT_THAT(error_of(gzip(idx_bytes({1U << 30}, ""))), HasSubstr("bytes are missing"));
}

TEST(Idx, ErrorsNameTheFile) {
  const testing::TempDir directory;
  const auto file = directory / "labels.gz";
  testing::write_file(file, "nonsense");
  EXPECT_THAT(read_idx(file).error().text(), HasSubstr(file.native()));
  EXPECT_THAT(read_idx(directory / "absent").error().text(), HasSubstr("absent"));
}

}  // namespace
}  // namespace joulescale
