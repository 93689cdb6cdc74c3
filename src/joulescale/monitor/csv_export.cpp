// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/csv_export.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "joulescale/base/clock.h"
#include "joulescale/base/file.h"
#include "joulescale/base/text.h"
#include "joulescale/monitor/counter_account.h"
#include "joulescale/monitor/journal.h"
#include "joulescale/monitor/launch.h"
#include "joulescale/monitor/power_account.h"

namespace joulescale {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHeader =
    "time_utc,time_s,node,rank,channel,domain,quantity,provenance,energy_j,interval_energy_j,"
    "power_w,metric,metric_unit\n";
constexpr std::size_t kPieceBytes = std::size_t{64} * 1024;

/// When a journal begins, and when its command did.
class JournalTimes final : public JournalVisitor {
 public:
  void on_start(Nanoseconds, Nanoseconds offset) override { wall_offset = offset; }
  void on_begin(Nanoseconds time) override { begin = time; }

  Nanoseconds wall_offset{0};
  std::optional<Nanoseconds> begin;
};

/// A channel with the energy that its readings have given so far.
class ChannelRows {
 public:
  ChannelRows(const Channel& channel, Nanoseconds sample_period, const std::string& prefix)
      : unit_(si_per_raw_unit(channel.unit)),
        start_(fmt::format(",{}{},{},{},{},",
                           prefix,
                           escape_csv(to_valid_utf8(channel.name)),
                           domain_name(channel.domain),
                           quantity_name(channel.quantity),
                           channel.quantity == Quantity::kMetric
                               ? std::string_view()
                               : provenance_name(channel.provenance))) {
    if (channel.quantity == Quantity::kEnergy) {
      start_account(account_.emplace<CounterAccount>(channel, sample_period));
    } else if (channel.quantity == Quantity::kPower) {
      start_account(account_.emplace<PowerAccount>(channel, sample_period));
    } else {
      account_.emplace<std::string>(reported_unit_name(channel.unit));
    }
  }

  /// Where the monitor's account stood at this place of the journal.
  void note(const ChannelState& state) { state_ = state; }
  /// The readings since the last note are no longer there; their energy goes into the next row.
  void jump(const ChannelState& state) {
    if (auto* counter = std::get_if<CounterAccount>(&account_)) {
      skip_account(*counter, state_, state);
    } else if (auto* power = std::get_if<PowerAccount>(&account_)) {
      skip_account(*power, state_, state);
    }
    state_ = state;
  }
  /// Everything behind the times.
  void append(const RawReading& reading, std::string& text) {
    text += start_;
    const double value = static_cast<double>(reading.raw) * unit_;
    const auto out = std::back_inserter(text);
    if (auto* counter = std::get_if<CounterAccount>(&account_)) {
      fmt::format_to(out, "{},{},,,\n", value, interval_energy(*counter, reading));
    } else if (auto* power = std::get_if<PowerAccount>(&account_)) {
      fmt::format_to(out, ",{},{},,\n", interval_energy(*power, reading), value);
    } else {
      fmt::format_to(out, ",,,{},{}\n", value, std::get<std::string>(account_));
    }
  }

 private:
  template <typename Account>
  void start_account(Account& account) {
    account.curve().keep_ends_only();
    state_.account = account.state();
  }

  /// Nothing for the first reading, which only gives the base.
  template <typename Account>
  std::string interval_energy(Account& account, const RawReading& reading) {
    account.add(reading);
    if (account.curve().empty()) {
      return {};
    }
    const Joules energy = account.curve().back().energy;
    const auto before = std::exchange(row_energy_, energy);
    return before ? fmt::format("{}", (energy - *before).value()) : std::string();
  }

  double unit_;
  std::string start_;  // node, rank and what the channel is, with commas around
  std::variant<std::string, CounterAccount, PowerAccount> account_;  // a metric's unit
  std::optional<Joules> row_energy_;  // of the account at the last row
  ChannelState state_;
};

/// The rows of one journal.
class RowWriter final : public JournalVisitor {
 public:
  RowWriter(std::string prefix, Nanoseconds begin, Nanoseconds wall_offset, const TextSink& sink)
      : prefix_(std::move(prefix)), begin_(begin), wall_offset_(wall_offset), sink_(sink) {}

  void on_sensor(std::size_t number,
                 Nanoseconds sample_period,
                 const std::vector<Channel>& channels) override {
    std::vector<std::string>& names = sensors_[number];
    names.clear();
    for (const Channel& channel : channels) {
      names.push_back(channel.name);
      rows_.try_emplace(channel.name, channel, sample_period, prefix_);
    }
  }
  void on_readings(std::size_t sensor, const std::vector<RawReading>& readings) override {
    const auto found = sensors_.find(sensor);
    if (found == sensors_.end() || found->second.size() != readings.size() || !written_) {
      return;
    }
    for (std::size_t i = 0; i < readings.size(); ++i) {
      if (readings[i].status != ReadStatus::kOk) {
        continue;
      }
      has_rows_ = true;
      const Nanoseconds time = readings[i].middle();
      text_ += format_rfc3339(time + wall_offset_);
      fmt::format_to(std::back_inserter(text_), ",{:.6f}", to_seconds(time - begin_).value());
      rows_.at(found->second[i]).append(readings[i], text_);
    }
    if (text_.size() >= kPieceBytes) {
      write_out();
    }
  }
  void on_snapshot(std::size_t sensor, const std::vector<ChannelState>& states) override {
    take_states(sensor, states, &ChannelRows::note);
  }
  void on_jump(std::size_t sensor, const std::vector<ChannelState>& states) override {
    take_states(sensor, states, &ChannelRows::jump);
  }

  /// Hands over what is left; written() tells whether that went well.
  void write_out() {
    if (written_) {
      written_ = sink_(text_);
    }
    text_.clear();
  }
  const Result<void>& written() const { return written_; }
  bool has_rows() const { return has_rows_; }

 private:
  void take_states(std::size_t sensor,
                   const std::vector<ChannelState>& states,
                   void (ChannelRows::*take)(const ChannelState&)) {
    const auto found = sensors_.find(sensor);
    if (found != sensors_.end() && found->second.size() == states.size()) {
      for (std::size_t i = 0; i < states.size(); ++i) {
        (rows_.at(found->second[i]).*take)(states[i]);
      }
    }
  }

  std::string prefix_;
  Nanoseconds begin_;
  Nanoseconds wall_offset_;
  const TextSink& sink_;
  std::map<std::size_t, std::vector<std::string>> sensors_;  // the channels of each
  std::map<std::string, ChannelRows> rows_;
  std::string text_;
  bool has_rows_ = false;
  Result<void> written_;
};

/// "journal-3" is of rank 3.
std::string rank_of(const fs::path& journal) {
  const std::string name = journal.filename().native();
  return name.substr(std::min(name.find('-') + 1, name.size()));
}

/// Whether there was a row.
Result<bool> export_node(const NodeDirectory& node,
                         const TextSink& sink,
                         std::vector<std::string>& notes) {
  struct Part {
    fs::path file;
    JournalTimes times;
  };
  std::vector<Part> parts;
  std::optional<Nanoseconds> begin;  // of the node's first command
  for (const fs::path& file : node.journals()) {
    Part& part = parts.emplace_back(Part{file, {}});
    JOULESCALE_TRY_ASSIGN(const std::size_t torn_bytes, read_journal(file, part.times));
    if (torn_bytes > 0) {
      notes.push_back(
          fmt::format("'{}': {} bytes at its end cannot be read (torn or damaged): its "
                      "rows end early",
                      file.native(),
                      torn_bytes));
    }
    if (part.times.begin) {
      begin = std::min(begin.value_or(*part.times.begin), *part.times.begin);
    }
  }
  bool has_rows = false;
  for (const Part& part : parts) {
    const std::string prefix = fmt::format(
        "{},{},", escape_csv(to_valid_utf8(node.path.filename().native())), rank_of(part.file));
    RowWriter writer(prefix, begin.value_or(Nanoseconds(0)), part.times.wall_offset, sink);
    JOULESCALE_TRY_ASSIGN(JournalReader reader, JournalReader::open(part.file));
    while (true) {
      JOULESCALE_TRY_ASSIGN(const bool more, reader.next(writer));
      if (!more || !writer.written()) {
        break;
      }
    }
    writer.write_out();
    JOULESCALE_TRY(writer.written());
    has_rows = has_rows || writer.has_rows();
  }
  return has_rows;
}

}  // namespace

Result<std::vector<std::string>> export_csv(const fs::path& path, const TextSink& sink) {
  const RunDirectory run{path};
  JOULESCALE_TRY(read_launch(run));
  std::error_code error;
  std::set<fs::path> nodes;  // in a fixed order
  bool has_journal = false;
  for (fs::directory_iterator entry(run.nodes(), error), end; !error && entry != end;
       entry.increment(error)) {
    nodes.insert(entry->path());
    has_journal = has_journal || !NodeDirectory{entry->path()}.journals().empty();
  }
  if (!has_journal) {
    return Error(
        ErrorCode::kInvalidArgument,
        fmt::format("'{}' has no journals (a run merged from several directories has none: "
                    "export each of those)",
                    path.native()));
  }
  JOULESCALE_TRY(sink(kHeader));
  std::vector<std::string> notes;
  bool has_rows = false;
  for (const fs::path& node : nodes) {
    auto exported = export_node(NodeDirectory{node}, sink, notes);
    if (!exported) {
      return std::move(exported).error().with_context(node.native());
    }
    has_rows = has_rows || *exported;
  }
  if (!has_rows) {
    notes.push_back(
        fmt::format("'{}': no journal holds a reading: there are no rows", path.native()));
  }
  return notes;
}

}  // namespace joulescale
