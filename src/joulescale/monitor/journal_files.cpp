// SPDX-License-Identifier: Apache-2.0
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "joulescale/monitor/journal.h"

namespace joulescale {
namespace {

/// The number of segments that a history stands for.
Result<std::uint32_t> covered_by(const std::filesystem::path& history) {
  JOULESCALE_TRY_ASSIGN(FrameReader log, FrameReader::open(history, kHistoryMagic));
  JOULESCALE_TRY_ASSIGN(const bool more, log.next());
  PayloadReader in(log.payload());
  const std::uint32_t covered = more ? in.u32() : 0;
  if (!more || log.type() != static_cast<std::uint8_t>(JournalType::kCovers) || !in.ok()) {
    return Error(ErrorCode::kCorruptData,
                 fmt::format("'{}' is damaged at its start", history.native()));
  }
  return covered;
}

}  // namespace

std::filesystem::path JournalFiles::history() const { return first.native() + ".history"; }

std::filesystem::path JournalFiles::segment(std::uint32_t number) const {
  return number == 0 ? first : std::filesystem::path(fmt::format("{}.{}", first.native(), number));
}

Result<std::vector<std::filesystem::path>> JournalFiles::present() const {
  std::vector<std::filesystem::path> files;
  std::uint32_t next = 0;
  std::error_code error;
  if (std::filesystem::exists(history(), error)) {
    JOULESCALE_TRY_ASSIGN(next, covered_by(history()));
    files.push_back(history());
  }
  for (; std::filesystem::exists(segment(next), error); ++next) {
    files.push_back(segment(next));
  }
  if (files.empty()) {
    files.push_back(first);  // whoever opens it says that it is not there
  }
  return files;
}

Result<FrameReader> JournalFiles::open(const std::filesystem::path& file) const {
  return FrameReader::open(file, file == history() ? kHistoryMagic : kJournalMagic);
}

void JournalFiles::remove() const {
  std::error_code ignored;
  if (const auto files = present()) {
    for (const std::filesystem::path& file : *files) {
      std::filesystem::remove(file, ignored);
    }
  }
}

}  // namespace joulescale
