// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/csv_export.h"

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "joulescale/base/file.h"
#include "joulescale/monitor/journal.h"
#include "joulescale/monitor/launch.h"

#include "tests/support/counter_feed.h"
#include "tests/support/temp_dir.h"

namespace joulescale {
namespace {

using testing::at_seconds;
using ::testing::HasSubstr;
using testing::no_reading;
using testing::ok_reading;
using testing::TempDir;

using Row = std::map<std::string, std::string>;

constexpr std::uint64_t kExportRangeUj = 1'000'000'000;

class CsvExport : public ::testing::Test {
 protected:
  CsvExport() {
    std::filesystem::create_directories(node_.path);
    EXPECT_TRUE(write_file_atomic(RunDirectory{run_.path()}.launch_file(), format_launch({})).ok());
  }

  /// 100 W on a counter that goes round, 50 W of power, and a temperature with a gap.
  void write_journal(int rank) const {
    JournalWriter journal = JournalWriter::create(node_.journal(rank)).value();
    const std::vector<Channel> channels = {
        testing::counter_channel(kExportRangeUj),
        testing::power_channel(),
        testing::metric_channel("odd,\"name\"", RawUnit::kCelsius)};
    // 1,700,000,000 s after 1970 at the monotonic time 1000 s.
    ASSERT_TRUE(
        journal.start(at_seconds(1000.0), at_seconds(1'699'999'000.0), Nanoseconds(0)).ok());
    ASSERT_TRUE(journal.sensor(0, std::chrono::seconds(1), channels).ok());
    ASSERT_TRUE(journal.begin(at_seconds(1001.0)).ok());
    for (int i = 0; i <= 30; ++i) {
      const auto n = static_cast<std::uint64_t>(i);
      const std::vector row = {
          ok_reading(1000.0 + i, (900'000'000 + n * 100'000'000) % kExportRangeUj),
          ok_reading(1000.0 + i, 50'000),
          i == 7 ? no_reading(1000.0 + i) : ok_reading(1000.0 + i, 40 + n)};
      ASSERT_TRUE(journal.readings(0, row).ok());
    }
    ASSERT_TRUE(journal.sync().ok());
  }

  std::vector<Row> rows() const {
    std::string text;
    const auto exported = export_csv(run_.path(), [&](std::string_view piece) -> Result<void> {
      text += piece;
      return {};
    });
    EXPECT_TRUE(exported.ok());
    std::vector<std::string> columns;
    std::vector<Row> rows;
    std::istringstream lines(text);
    std::string line;
    while (std::getline(lines, line)) {
      const std::vector<std::string> fields = split(line);
      if (columns.empty()) {
        columns = fields;
        continue;
      }
      EXPECT_EQ(fields.size(), columns.size()) << line;
      Row& row = rows.emplace_back();
      for (std::size_t i = 0; i < fields.size() && i < columns.size(); ++i) {
        row[columns[i]] = fields[i];
      }
    }
    return rows;
  }

  TempDir run_;
  NodeDirectory node_{run_.path() / "nodes" / "node-a"};

 private:
  static std::vector<std::string> split(const std::string& line) {
    std::vector<std::string> fields(1);
    bool quoted = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '"' && quoted && line.substr(i, 2) == "\"\"") {
        fields.back() += line[i++];
      } else if (line[i] == '"') {
        quoted = !quoted;
      } else if (line[i] == ',' && !quoted) {
        fields.emplace_back();
      } else {
        fields.back() += line[i];
      }
    }
    return fields;
  }
};

TEST_F(CsvExport, EachValueIsARowWithItsUnit) {
  write_journal(3);
  double counter_j = 0.0;
  double power_j = 0.0;
  int metrics = 0;
  int counters = 0;
  for (const Row& row : rows()) {
    EXPECT_EQ(row.at("node"), "node-a");
    EXPECT_EQ(row.at("rank"), "3");
    if (row.at("quantity") == "energy") {
      EXPECT_EQ(row.at("channel"), "powercap/package-0");
      EXPECT_EQ(row.at("provenance"), "measured");
      EXPECT_TRUE(row.at("power_w").empty());
      if (counters++ == 0) {
        EXPECT_EQ(row.at("time_utc"), "2023-11-14T22:13:20.000Z");
        EXPECT_EQ(row.at("time_s"), "-1.000000") << "before the command's begin";
        EXPECT_EQ(row.at("energy_j"), "900");
        EXPECT_EQ(row.at("interval_energy_j"), "") << "the first reading is only the base";
      } else {
        counter_j += std::stod(row.at("interval_energy_j"));
      }
    } else if (row.at("quantity") == "power") {
      EXPECT_EQ(row.at("power_w"), "50");
      EXPECT_EQ(row.at("provenance"), "integrated");
      EXPECT_TRUE(row.at("energy_j").empty());
      power_j += row.at("interval_energy_j").empty() ? 0.0 : std::stod(row.at("interval_energy_j"));
    } else {
      ++metrics;
      EXPECT_EQ(row.at("channel"), "odd,\"name\"");
      EXPECT_EQ(row.at("metric_unit"), "degC");
      EXPECT_TRUE(row.at("interval_energy_j").empty());
      EXPECT_NE(row.at("metric"), "47") << "the reading without a value has no row";
    }
  }
  EXPECT_EQ(counters, 31);
  EXPECT_EQ(metrics, 30);
  EXPECT_NEAR(counter_j, 3000.0, 1e-6) << "three rounds of the counter included";
  EXPECT_NEAR(power_j, 1500.0, 1e-3);
}

TEST_F(CsvExport, TimesCountFromTheFirstCommandOfTheNode) {
  write_journal(0);
  JournalWriter later = JournalWriter::create(node_.journal(1)).value();
  const std::vector<Channel> channels = {
      testing::metric_channel("load/rank-1/rss", RawUnit::kByte)};
  ASSERT_TRUE(later.start(at_seconds(1010.0), at_seconds(1.0), Nanoseconds(0)).ok());
  ASSERT_TRUE(later.sensor(0, std::chrono::seconds(1), channels).ok());
  ASSERT_TRUE(later.begin(at_seconds(1011.0)).ok());
  ASSERT_TRUE(later.readings(0, std::vector{ok_reading(1011.5, 4096)}).ok());
  ASSERT_TRUE(later.sync().ok());
  const Row last = rows().back();
  EXPECT_EQ(last.at("rank"), "1");
  EXPECT_EQ(last.at("time_s"), "10.500000");
  EXPECT_EQ(last.at("metric"), "4096");
}

TEST_F(CsvExport, ErrorsSayWhatIsWrong) {
  const auto no_text = [](std::string_view) -> Result<void> { return {}; };
  const auto empty = export_csv(run_.path(), no_text);
  ASSERT_FALSE(empty.ok());
  EXPECT_EQ(empty.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(empty.error().text(), HasSubstr("no journals"));
  const auto nowhere = export_csv(run_.path() / "nodes", no_text);
  ASSERT_FALSE(nowhere.ok());
  EXPECT_THAT(nowhere.error().text(), HasSubstr("no run directory"));
  write_journal(0);
  int pieces = 0;
  const auto full_disk = export_csv(run_.path(), [&](std::string_view) -> Result<void> {
    return ++pieces > 1 ? Result<void>(Error(ErrorCode::kIo, "disk full")) : Result<void>();
  });
  ASSERT_FALSE(full_disk.ok());
  EXPECT_THAT(full_disk.error().text(), HasSubstr("disk full"));
}

}  // namespace
}  // namespace joulescale
