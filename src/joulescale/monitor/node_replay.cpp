// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/node_replay.h"

#include <algorithm>
#include <map>
#include <utility>

#include "joulescale/monitor/journal.h"

namespace joulescale {
namespace {

/// Blocks of different sensors hold about a second each and may stand in another order: one that
/// begins this much later than a time means that everything before that time has been read.
constexpr Nanoseconds kBlockDisorder = std::chrono::minutes(1);

}  // namespace

/// One journal with the next of its blocks at hand.
class NodeReplay::Journal final : public JournalVisitor {
 public:
  explicit Journal(JournalReader reader) : reader_(std::move(reader)) {}

  /// Reads up to the next block of readings; declares sensors to the meter on the way.
  Result<void> load(NodeMeter& meter) {
    meter_ = &meter;
    rows_.clear();
    jump_.reset();
    while (rows_.empty() && !jump_ && !ended_) {
      JOULESCALE_TRY_ASSIGN(const bool more, reader_.next(*this));
      ended_ = !more;
    }
    loaded_ = true;
    return {};
  }
  void feed(NodeMeter& meter, Nanoseconds until) {
    for (const auto& [sensor, row] : rows_) {
      if (row.back().after < until) {
        meter.add(sensor, row);
      }
    }
    if (jump_) {
      meter.skip(jump_->sensor, jump_->from, jump_->to);
    }
    loaded_ = false;
  }
  bool loaded() const { return loaded_; }
  /// Of the block at hand; nothing at the end.
  std::optional<Nanoseconds> time() const {
    if (jump_) {
      return jump_->to.front().last_read;
    }
    return rows_.empty() ? std::nullopt : std::optional(rows_.front().second.front().before);
  }

  void on_sensor(std::size_t number,
                 Nanoseconds sample_period,
                 const std::vector<Channel>& channels) override {
    sensors_[number] = meter_->add_sensor(channels, sample_period);
    names_[number].clear();
    for (const Channel& channel : channels) {
      names_[number].push_back(channel.name);
    }
  }
  void on_readings(std::size_t sensor, const std::vector<RawReading>& readings) override {
    if (const auto found = sensors_.find(sensor); found != sensors_.end() && !readings.empty()) {
      rows_.emplace_back(found->second, readings);
    }
  }
  void on_missed(std::size_t sensor, std::uint64_t count) override {
    if (const auto found = sensors_.find(sensor); found != sensors_.end()) {
      meter_->add_missed(found->second, count);
    }
  }
  void on_snapshot(std::size_t sensor, const std::vector<ChannelState>& states) override {
    remember(sensor, states);
  }
  void on_jump(std::size_t sensor, const std::vector<ChannelState>& states) override {
    const auto found = sensors_.find(sensor);
    if (found != sensors_.end() && !states.empty()) {
      jump_ = {found->second, last_states(sensor, states), states};
      remember(sensor, states);
    }
  }

 private:
  struct Jump {
    std::size_t sensor = 0;
    std::vector<ChannelState> from;
    std::vector<ChannelState> to;
  };

  void remember(std::size_t sensor, const std::vector<ChannelState>& states) {
    const std::vector<std::string>& names = names_[sensor];
    for (std::size_t i = 0; i < std::min(names.size(), states.size()); ++i) {
      states_.insert_or_assign(names[i], states[i]);
    }
  }
  /// Those that came before `states`: at first an account is empty.
  std::vector<ChannelState> last_states(std::size_t sensor,
                                        const std::vector<ChannelState>& states) {
    std::vector<ChannelState> last(states.size());
    for (std::size_t i = 0; i < states.size(); ++i) {
      std::visit([&](const auto& account) { last[i].account = std::decay_t<decltype(account)>(); },
                 states[i].account);
      if (const auto known = states_.find(names_[sensor][i]); known != states_.end()) {
        last[i] = known->second;
      }
    }
    return last;
  }

  JournalReader reader_;
  NodeMeter* meter_ = nullptr;
  std::map<std::size_t, std::size_t> sensors_;             // the journal's numbers to the meter's
  std::map<std::size_t, std::vector<std::string>> names_;  // of each sensor's channels
  std::map<std::string, ChannelState> states_;             // of the journal's own accounts
  std::vector<std::pair<std::size_t, std::vector<RawReading>>> rows_;
  std::optional<Jump> jump_;
  bool loaded_ = false;
  bool ended_ = false;
};

NodeReplay::NodeReplay() = default;
NodeReplay::NodeReplay(NodeReplay&&) noexcept = default;
NodeReplay& NodeReplay::operator=(NodeReplay&&) noexcept = default;
NodeReplay::~NodeReplay() = default;

Result<NodeReplay> NodeReplay::open(const NodeDirectory& node, Nanoseconds until) {
  NodeReplay replay;
  replay.until_ = until;
  for (const std::filesystem::path& file : node.journals()) {
    JOULESCALE_TRY_ASSIGN(JournalReader reader, JournalReader::open(file));
    replay.journals_.push_back(std::make_unique<Journal>(std::move(reader)));
  }
  return replay;
}

Result<bool> NodeReplay::feed(NodeMeter& meter) {
  Journal* next = nullptr;
  for (const auto& journal : journals_) {
    if (!journal->loaded()) {
      JOULESCALE_TRY(journal->load(meter));
    }
    if (journal->time() && (next == nullptr || *journal->time() < *next->time())) {
      next = journal.get();
    }
  }
  if (next == nullptr || *next->time() - kBlockDisorder >= until_) {
    return false;
  }
  next->feed(meter, until_);
  return true;
}

NodeTimeline::NodeTimeline(NodeReplay replay,
                           const NodeEnergy& energy,
                           Nanoseconds begin,
                           Nanoseconds end)
    : replay_(std::move(replay)),
      channels_(energy.counted),
      accounts_(channels_.size()),
      has_measured_(!std::ranges::all_of(channels_, &CountedChannel::estimated)),
      has_estimated_(std::ranges::any_of(channels_, &CountedChannel::estimated)),
      resolution_(energy.resolution),
      end_(end),
      now_(begin) {}

Result<NodeTimeline> NodeTimeline::open(const NodeDirectory& node,
                                        const NodeEnergy& energy,
                                        Nanoseconds begin,
                                        Nanoseconds end) {
  JOULESCALE_TRY_ASSIGN(NodeReplay replay, NodeReplay::open(node));
  NodeTimeline timeline(std::move(replay), energy, begin, end);
  timeline.at(begin);
  timeline.at_begin_ = timeline.sum_at(begin);
  return timeline;
}

void NodeTimeline::find_accounts() {
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    if (!accounts_[i]) {
      accounts_[i] = meter_.find(channels_[i]);
    }
  }
}

/// Whether every channel that still gives points has one at or after the time.
bool NodeTimeline::is_reached(Nanoseconds time) const {
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    const CountedChannel& channel = channels_[i];
    const bool has_points = accounts_[i] && !meter_.curve(*accounts_[i]).empty();
    if (time >= channel.first_point && (!has_points || meter_.curve(*accounts_[i]).back().time <
                                                           std::min(time, channel.last_point))) {
      return false;
    }
  }
  return true;
}

NodeJoules NodeTimeline::sum_at(Nanoseconds time) const {
  NodeJoules sum;
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    if (accounts_[i]) {
      (channels_[i].estimated ? sum.estimated : sum.measured) +=
          meter_.curve(*accounts_[i]).at(time);
    }
  }
  return sum;
}

Nanoseconds NodeTimeline::resolution() const {
  Nanoseconds resolution = resolution_;
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    if (accounts_[i] && !channels_[i].estimated) {
      resolution = std::max(resolution, meter_.curve(*accounts_[i]).spacing(now_));
    }
  }
  return resolution;
}

NodeJoules NodeTimeline::at(Nanoseconds time) {
  now_ = std::clamp(time, now_, std::max(now_, end_));
  while (!replayed_ && !is_reached(now_)) {
    const auto more = replay_.feed(meter_);
    find_accounts();
    failed_ = failed_ || !more;
    if (!more || !*more) {
      meter_.close(end_);
      replayed_ = true;
    }
  }
  meter_.forget_before(now_);
  const NodeJoules sum = sum_at(now_);
  return {sum.measured - at_begin_.measured, sum.estimated - at_begin_.estimated};
}

}  // namespace joulescale
