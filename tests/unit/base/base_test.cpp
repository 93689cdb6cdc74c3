// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "joulescale/base/clock.h"
#include "joulescale/base/file.h"
#include "joulescale/base/frame_log.h"
#include "joulescale/base/text.h"
#include "joulescale/base/units.h"

#include "tests/support/temp_dir.h"

namespace joulescale {
namespace {

using testing::TempDir;
constexpr std::string_view kMagic = "TESTLOG1";

Result<int> half_of(int number) {
  if (number % 2 != 0) {
    return Error(ErrorCode::kInvalidArgument, "odd");
  }
  return number / 2;
}

Result<int> quarter_of(int number) {
  JOULESCALE_TRY_ASSIGN(const int half, half_of(number));
  JOULESCALE_TRY_ASSIGN(const int quarter, half_of(half));
  return quarter;
}

TEST(Result, PropagatesValuesAndErrors) {
  EXPECT_EQ(quarter_of(8).value(), 2);
  const auto failed = quarter_of(6);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().text(), "odd");
  EXPECT_EQ(exit_status_of(failed.error()), 2);
}

TEST(Error, ContextComesFirst) {
  const Error error =
      Error(ErrorCode::kIo, "no space").with_context("journal").with_context("run a");
  EXPECT_EQ(error.text(), "run a: journal: no space");
  EXPECT_EQ(exit_status_of(error), 1);
}

TEST(Error, TakesItsOwnContext) {
  Error error(ErrorCode::kIo, "no space");
  error = std::move(error).with_context("journal");
  EXPECT_EQ(error.text(), "journal: no space");
}

TEST(WriteFile, FollowsLinksAndRefusesWhatIsNoFile) {
  const TempDir directory;
  std::ofstream(directory / "target") << "old";
  std::filesystem::create_symlink("target", directory / "link");
  ASSERT_TRUE(write_file_atomic(directory / "link", "new").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(directory / "link"));
  EXPECT_EQ(read_file(directory / "target").value(), "new");
  ASSERT_EQ(::mkfifo((directory / "pipe").c_str(), 0600), 0);
  for (const char* name : {"pipe", "."}) {
    const auto refused = write_file_atomic(directory / name, "new");
    ASSERT_FALSE(refused.ok()) << name;
    EXPECT_NE(refused.error().text().find("not a regular file"), std::string::npos);
  }
}

TEST(ReadFile, DoesNotWaitForAPipe) {
  const TempDir directory;
  ASSERT_EQ(::mkfifo((directory / "pipe").c_str(), 0600), 0);
  EXPECT_FALSE(read_file(directory / "pipe").ok());
  EXPECT_FALSE(read_frame_log(directory / "pipe", kMagic).ok());
}

TEST(Units, WattsTimesSecondsAreJoules) {
  EXPECT_DOUBLE_EQ((Watts(250.0) * Seconds(4.0)).value(), 1000.0);
  EXPECT_DOUBLE_EQ(kilowatt_hours(Joules(3.6e6)), 1.0);
  EXPECT_DOUBLE_EQ((Joules(10.0) / Seconds(4.0)).value(), 2.5);
}

TEST(Clock, FormatsUtc) {
  EXPECT_EQ(format_rfc3339(std::chrono::milliseconds(1'700'000'000'250)),
            "2023-11-14T22:13:20.250Z");
}

TEST(Text, DurationsHaveAUnit) {
  EXPECT_EQ(parse_duration("250ms"), std::chrono::milliseconds(250));
  EXPECT_EQ(parse_duration("0.5s"), std::chrono::milliseconds(500));
  EXPECT_EQ(parse_duration("2min"), std::chrono::minutes(2));
  EXPECT_EQ(parse_duration("1.5h"), std::chrono::minutes(90));
  for (const char* wrong : {"2", "2m", "2 min", "-1s", "1e300h", "infs", "", "min", "2S"}) {
    EXPECT_FALSE(parse_duration(wrong)) << wrong;
  }
}

TEST(Text, NumbersAreWholeTexts) {
  EXPECT_EQ(parse_uint64("262143328850"), 262143328850U);
  EXPECT_EQ(parse_int64("-5"), -5);
  for (const char* wrong : {"", " 1", "1 ", "0x10", "1e3", "+1", "99999999999999999999"}) {
    EXPECT_FALSE(parse_uint64(wrong)) << wrong;
  }
  EXPECT_EQ(parse_double("1e3"), 1000.0);
  EXPECT_FALSE(parse_double("nan"));
  EXPECT_FALSE(parse_double("inf"));
}

TEST(Text, DoublesReadBackExactly) {
  for (const double value : {0.1 + 0.2, 12766934567891.0, 1e-300, -3.0}) {
    EXPECT_EQ(parse_double(format_double(value)), value);
  }
}

TEST(Text, InvalidUtf8IsReplaced) {
  EXPECT_EQ(to_valid_utf8("a\xC3\xA4z"), "a\xC3\xA4z");
  EXPECT_EQ(to_valid_utf8("a\xFFz"), "a\xEF\xBF\xBDz");
  EXPECT_EQ(to_valid_utf8("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(to_valid_utf8("\xE2\x82"), "\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(Text, NearestNameFindsSlips) {
  constexpr std::array<std::string_view, 3> kNames = {"devices", "epochs", "seed"};
  EXPECT_EQ(nearest_name("devises", kNames), "devices");
  EXPECT_EQ(nearest_name("epoch", kNames), "epochs");
  EXPECT_FALSE(nearest_name("launcher", kNames));
}

TEST(File, AtomicWriteReplacesWhole) {
  const TempDir directory;
  ASSERT_TRUE(write_file_atomic(directory / "a", "one"));
  ASSERT_TRUE(write_file_atomic(directory / "a", "two"));
  EXPECT_EQ(read_file(directory / "a").value(), "two");
  const auto entries = std::distance(std::filesystem::directory_iterator(directory.path()), {});
  EXPECT_EQ(entries, 1);
}

TEST(File, ErrorsNameTheFile) {
  const TempDir directory;
  EXPECT_NE(read_file(directory / "none").error().text().find("none"), std::string::npos);
  EXPECT_FALSE(write_file_atomic(directory / "no" / "file", "x"));
}

TEST(FrameLog, ReturnsFramesInOrder) {
  const TempDir directory;
  auto writer = FrameWriter::create(directory / "log", kMagic).value();
  ASSERT_TRUE(writer.append(1, "first"));
  ASSERT_TRUE(writer.append(2, std::string(70'000, 'x')));
  ASSERT_TRUE(writer.sync());
  const FrameLog log = read_frame_log(directory / "log", kMagic).value();
  ASSERT_EQ(log.frames.size(), 2U);
  EXPECT_EQ(log.frames[0].payload, "first");
  EXPECT_EQ(log.frames[1].payload.size(), 70'000U);
  EXPECT_EQ(log.torn_bytes, 0U);
}

TEST(FrameLog, EveryTornTailLeavesTheWholeFrames) {
  const TempDir directory;
  {
    auto writer = FrameWriter::create(directory / "log", kMagic).value();
    ASSERT_TRUE(writer.append(1, "first"));
    ASSERT_TRUE(writer.append(2, "second"));
    ASSERT_TRUE(writer.flush());
  }
  const std::string whole = read_file(directory / "log").value();
  constexpr std::size_t kFirstEnd = 8 + 9 + 5;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    std::ofstream(directory / "torn", std::ios::binary | std::ios::trunc) << whole.substr(0, size);
    const FrameLog log = read_frame_log(directory / "torn", kMagic).value();
    EXPECT_EQ(log.frames.size(), size >= kFirstEnd ? 1U : 0U) << size;
  }
}

TEST(FrameLog, DamageEndsTheReading) {
  const TempDir directory;
  {
    auto writer = FrameWriter::create(directory / "log", kMagic).value();
    ASSERT_TRUE(writer.append(1, "first"));
    ASSERT_TRUE(writer.append(2, "second"));
    ASSERT_TRUE(writer.flush());
  }
  std::string bytes = read_file(directory / "log").value();
  bytes[8 + 9 + 5 + 9] ^= 1;
  std::ofstream(directory / "damaged", std::ios::binary) << bytes;
  const FrameLog log = read_frame_log(directory / "damaged", kMagic).value();
  EXPECT_EQ(log.frames.size(), 1U);
  EXPECT_EQ(log.torn_bytes, 9U + 6U);
  EXPECT_FALSE(read_frame_log(directory / "damaged", "OTHERLOG"));
}

TEST(Payload, ReadsWhatWasWritten) {
  const PayloadWriter writer = PayloadWriter().u8(7).u32(1U << 31).i64(-5).text("name");
  PayloadReader reader(writer.bytes());
  EXPECT_EQ(reader.u8(), 7);
  EXPECT_EQ(reader.u32(), 1U << 31);
  EXPECT_EQ(reader.i64(), -5);
  EXPECT_EQ(reader.text(), "name");
  EXPECT_TRUE(reader.at_end());
  EXPECT_EQ(reader.u64(), 0U);
  EXPECT_FALSE(reader.ok());
}

}  // namespace
}  // namespace joulescale
