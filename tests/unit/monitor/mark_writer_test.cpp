// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/marks/mark_writer.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"
#include "tests/support/temp_dir.h"

namespace joulescale {
namespace {

using testing::FakeClock;
using testing::TempDir;

TEST(MarkWriter, WritesRegionsAndCounters) {
  const TempDir directory;
  FakeClock clock;
  {
    MarkWriter marks = MarkWriter::create(directory.path(), clock).value();
    marks.register_rank(1, 2, "cpu_rank", "");
    const RegionId forward = marks.region("forward");
    EXPECT_EQ(marks.region("forward"), forward);
    {
      const ScopedRegion region(marks, forward);
      clock.advance(std::chrono::milliseconds(5));
    }
    marks.add(MarkCounter::kSamples, 64);
  }
  const auto file = std::filesystem::directory_iterator(directory.path())->path();
  EXPECT_EQ(file.extension(), kMarksSuffix);
  const FrameLog log = read_frame_log(file, kMarksMagic).value();
  ASSERT_EQ(log.frames.size(), 6U);
  PayloadReader begin(log.frames[3].payload);
  PayloadReader end(log.frames[4].payload);
  EXPECT_EQ(begin.u32(), end.u32());
  EXPECT_EQ(end.i64() - begin.i64(), 5'000'000);
  PayloadReader counter(log.frames[5].payload);
  EXPECT_EQ(counter.u8(), static_cast<std::uint8_t>(MarkCounter::kSamples));
  EXPECT_EQ(counter.u64(), 64U);
}

TEST(MarkWriter, DoesNothingOutsideARun) {
  MarkWriter marks;
  marks.begin(marks.region("forward"));
  marks.add(MarkCounter::kUpdates, 1);
  EXPECT_FALSE(marks.active());
}

}  // namespace
}  // namespace joulescale
