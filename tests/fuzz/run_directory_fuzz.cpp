// SPDX-License-Identifier: Apache-2.0
// What a crashed or hostile process may leave in a run directory: a journal, a marks file,
// node.json, launch.json and a rank's record of any bytes are read without harm, and sums stay
// finite and not negative. The input's first byte chooses the file; for the two logs the rest is
// taken as frames with right checksums, so that the content behind them is reached.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "joulescale/base/frame_log.h"
#include "joulescale/monitor/journal.h"
#include "joulescale/monitor/launch.h"
#include "joulescale/monitor/marks/mark_writer.h"
#include "joulescale/monitor/marks_summary.h"
#include "joulescale/monitor/merge.h"
#include "joulescale/monitor/node_meter.h"
#include "joulescale/monitor/node_replay.h"
#include "joulescale/monitor/node_report.h"
#include "joulescale/monitor/rank_record.h"

#include "tests/support/steady_timeline.h"

namespace {

using namespace joulescale;

/// Frames of type and length bytes, each with its content, written by the real writer.
void write_frames(const std::filesystem::path& file,
                  std::string_view magic,
                  std::string_view data) {
  std::filesystem::remove(file);
  auto writer = FrameWriter::create(file, magic);
  while (writer && data.size() >= 2) {
    const auto type = static_cast<std::uint8_t>(data[0]);
    const auto length = static_cast<std::uint8_t>(data[1]);
    data.remove_prefix(2);
    const std::string_view payload = data.substr(0, length);
    data.remove_prefix(payload.size());
    (void)writer->append(type, payload).ok();
  }
  (void)writer->flush().ok();
}

void check_journals(const std::filesystem::path& directory) {
  auto replay = NodeReplay::open(NodeDirectory{directory});
  if (!replay) {
    return;
  }
  NodeMeter meter;
  while (true) {
    const auto more = replay->feed(meter);
    if (!more || !*more) {
      break;
    }
  }
  const NodeEnergy energy = meter.finish(Nanoseconds(1'000'000'000), Nanoseconds(60'000'000'000));
  for (const GroupEnergy& group : energy.groups) {
    if (!std::isfinite(group.energy.energy.value()) || group.energy.energy.value() < 0.0) {
      std::abort();
    }
  }
}

void check_marks(const std::filesystem::path& directory) {
  const Nanoseconds begin(1'000'000'000);
  const Nanoseconds end(60'000'000'000);
  testing::SteadyTimeline timeline(begin, Watts(17.0), Watts(0.0), Nanoseconds(100'000'000));
  const MarksSummary summary = summarise_marks(directory, &timeline, begin, end);
  for (const RegionRecord& region : summary.regions) {
    if (!(region.energy->value() >= 0.0) || !std::isfinite(region.energy->value())) {
      std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  static const std::filesystem::path kDirectory = [] {
    const auto path = std::filesystem::temp_directory_path() /
                      ("run_directory_fuzz." + std::to_string(::getpid()));
    std::filesystem::create_directories(path);
    std::atexit([] {
      std::error_code ignored;
      std::filesystem::remove_all(std::filesystem::temp_directory_path() /
                                      ("run_directory_fuzz." + std::to_string(::getpid())),
                                  ignored);
    });
    return path;
  }();
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 5) {
    case 0: {
      // Odd inputs are a history, which has kJump frames; it stands for no segment.
      const JournalFiles files{kDirectory / "journal-0"};
      files.remove();
      const bool is_history = data[0] / 5 % 2 == 1;
      write_frames(is_history ? files.history() : files.first,
                   is_history ? kHistoryMagic : kJournalMagic,
                   text);
      check_journals(kDirectory);
      break;
    }
    case 1:
      write_frames(kDirectory / "1-1.marks", kMarksMagic, text);
      check_marks(kDirectory);
      break;
    case 2:
      if (const auto report = parse_node_report(text)) {
        const std::string again = format_node_report(*report);
        if (!parse_node_report(again)) {
          std::abort();
        }
        (void)merge_run(LaunchInfo(), std::span(&*report, 1));
      }
      break;
    case 3:
      (void)parse_launch(text).ok();
      break;
    default:
      if (const auto record = parse_rank_record(text)) {
        const std::string again = format_rank_record(*record);
        if (!parse_rank_record(again)) {
          std::abort();
        }
      }
      break;
  }
  return 0;
}
