// SPDX-License-Identifier: Apache-2.0
// joulescale-train as its users start it: real processes on the loopback interface.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "joulescale/base/frame_log.h"
#include "joulescale/monitor/marks/mark_writer.h"
#include "joulescale/record/run_json.h"

#include "tests/ranks/rank_process.h"
#include "tests/support/idx_files.h"
#include "tests/support/temp_dir.h"

namespace joulescale {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::RankProcess;
using testing::start_ranks;
using testing::Variables;

constexpr const char* kProgram = JOULESCALE_BIN_DIR "/joulescale-train";
constexpr auto kLimit = std::chrono::seconds(60);
/// What the documentation promises after a rank's death.
constexpr auto kDeathLimit = std::chrono::seconds(30);

/// What the ranks told the monitor.
struct Marks {
  std::map<std::string, int> regions;
  std::uint64_t samples = 0;
  std::uint64_t updates = 0;
  int ranks = 0;
  std::optional<TrainingRecord> training;
};

void add_frame(const Frame& frame, std::map<RegionId, std::string>& names, Marks& marks) {
  PayloadReader reader(frame.payload);
  switch (static_cast<MarkType>(frame.type)) {
    case MarkType::kRank:
      ++marks.ranks;
      break;
    case MarkType::kName: {
      const auto id = reader.u32();
      names[id] = reader.text();
      break;
    }
    case MarkType::kEnd:
      ++marks.regions[names[reader.u32()]];
      break;
    case MarkType::kCounter: {
      const auto counter = static_cast<MarkCounter>(reader.u8());
      (counter == MarkCounter::kSamples ? marks.samples : marks.updates) += reader.u64();
      break;
    }
    case MarkType::kTraining:
      EXPECT_FALSE(marks.training.has_value()) << "more than one rank wrote it";
      marks.training = parse_training_record(reader.text()).value();
      break;
    default:
      break;
  }
}

void add_marks_file(const std::filesystem::path& file, Marks& marks) {
  std::map<RegionId, std::string> names;
  const FrameLog log = read_frame_log(file, kMarksMagic).value();
  for (const auto& frame : log.frames) {
    add_frame(frame, names, marks);
  }
}

Marks read_marks(const std::filesystem::path& directory) {
  Marks marks;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    add_marks_file(entry.path(), marks);
  }
  return marks;
}

/// Returns when every rank has made an update and written it to its marks.
void wait_for_updates(const std::filesystem::path& marks_directory, std::size_t world_size) {
  const auto deadline = std::chrono::steady_clock::now() + kLimit;
  while (std::chrono::steady_clock::now() < deadline) {
    std::size_t training_ranks = 0;
    for (const auto& entry : std::filesystem::directory_iterator(marks_directory)) {
      Marks marks;
      add_marks_file(entry.path(), marks);
      training_ranks += marks.updates > 0 ? 1 : 0;
    }
    if (training_ranks == world_size) {
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  FAIL() << "no update within the limit";
}

class TrainRanks : public ::testing::Test {
 protected:
  TrainRanks() {
    testing::write_image_dataset(directory_.path(), 400, 101);
    std::filesystem::create_directory(marks_directory());
  }

  std::filesystem::path marks_directory() const { return directory_ / "marks"; }
  Variables measured() const { return {{kRunVariable, marks_directory()}}; }

  std::vector<std::string> command(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {kProgram,
                                          "--data-dir",
                                          directory_.path(),
                                          "--local-batch-size",
                                          "16",
                                          "--seed",
                                          "3",
                                          "--quiet"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  /// A run that lasts until it is ended.
  std::vector<std::string> endless() const {
    return command({"--epochs", "1000000", "--timeout-s", "600"});
  }

  /// Status and stderr of one process without ranks.
  std::pair<int, std::string> run(const std::vector<std::string>& arguments,
                                  const Variables& variables = {}) const {
    RankProcess process(arguments, variables, directory_ / "single");
    const int status = process.wait(kLimit).value_or(-1000);
    return {status, process.err()};
  }

  void expect_success(std::vector<RankProcess>& ranks) const {
    for (auto& rank : ranks) {
      EXPECT_EQ(rank.wait(kLimit), 0) << rank.err();
    }
  }

  testing::TempDir directory_;
};

void expect_one_line(const std::string& text, const std::string& part) {
  EXPECT_EQ(std::ranges::count(text, '\n'), 1) << text;
  EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(text, ::testing::StartsWith("joulescale-train: "));
}

TEST_F(TrainRanks, SameSeedGivesTheSameCurveBitForBit) {
  std::vector<std::string> curves;
  for (const std::string seed : {"3", "3", "4"}) {
    const auto curve = directory_ / "curve.csv";
    auto ranks = start_ranks(
        2, command({"--curve", curve, "--epochs", "2", "--seed", seed}), directory_ / "rank");
    expect_success(ranks);
    EXPECT_THAT(ranks[0].out(), HasSubstr("top-1 error"));
    EXPECT_EQ(ranks[1].out(), "");
    curves.push_back(testing::text_of(curve));
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_EQ(std::ranges::count(curves[0], '\n'), 1 + 2 * 12);
  EXPECT_EQ(curves[0], curves[1]);
  EXPECT_NE(curves[0], curves[2]);
}

TEST_F(TrainRanks, MarksHoldPhasesCountersAndTheResult) {
  for (const int world_size : {1, 3}) {
    const auto marks_directory = directory_ / std::to_string(world_size);
    std::filesystem::create_directory(marks_directory);
    auto ranks = start_ranks(world_size,
                             command({"--accumulation-steps", "2"}),
                             directory_ / "rank",
                             {{kRunVariable, marks_directory}});
    expect_success(ranks);
    const Marks marks = read_marks(marks_directory);
    const int updates = 400 / (32 * world_size);
    EXPECT_EQ(marks.ranks, world_size);
    EXPECT_EQ(marks.samples, static_cast<std::uint64_t>(updates * 32 * world_size));
    EXPECT_EQ(marks.updates, static_cast<std::uint64_t>(updates * world_size));
    EXPECT_EQ(marks.regions,
              (std::map<std::string, int>{{"data", 2 * updates * world_size},
                                          {"forward", 2 * updates * world_size},
                                          {"backward", 2 * updates * world_size},
                                          {"optimizer", updates * world_size},
                                          {"evaluation", world_size}}));
    ASSERT_TRUE(marks.training.has_value());
    EXPECT_EQ(marks.training->samples, updates * 32 * world_size);
    EXPECT_EQ(marks.training->updates, updates);
    EXPECT_EQ(marks.training->global_batch_size, 32 * world_size);
    EXPECT_EQ(marks.training->metrics.at("test_samples"), 101.0);
    EXPECT_GE(marks.training->top1_error.value(), marks.training->top5_error.value());
    EXPECT_GT(marks.training->loss.value(), 0.0);
  }
}

TEST_F(TrainRanks, MoreRanksThanTestImagesCountEachOnce) {
  testing::write_image_dataset(directory_.path(), 400, 2);
  auto ranks = start_ranks(3, command(), directory_ / "rank", measured());
  expect_success(ranks);
  EXPECT_EQ(read_marks(marks_directory()).training->metrics.at("test_samples"), 2.0);
}

TEST_F(TrainRanks, KilledRankEndsAllAndIsNamed) {
  auto ranks = start_ranks(3, endless(), directory_ / "rank", measured());
  wait_for_updates(marks_directory(), 3);
  ranks[1].send(SIGKILL);
  const auto start = std::chrono::steady_clock::now();
  for (const std::size_t survivor : {0U, 2U}) {
    EXPECT_EQ(ranks[survivor].wait(kDeathLimit), 1);
    expect_one_line(ranks[survivor].err(), "rank 1 stopped without a message");
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, kDeathLimit);
}

TEST_F(TrainRanks, KilledFirstRankEndsAllToo) {
  auto ranks = start_ranks(2, endless(), directory_ / "rank", measured());
  wait_for_updates(marks_directory(), 2);
  ranks[0].send(SIGKILL);
  EXPECT_EQ(ranks[1].wait(kDeathLimit), 1);
  expect_one_line(ranks[1].err(), "rank 0");
}

TEST_F(TrainRanks, MissingRankEndsTheOthersAfterTheTimeout) {
  const auto socket = testing::listen_on_free_port();
  const auto [status, err] =
      run(command({"--timeout-s", "2", "--store-listen-fd", std::to_string(socket.fd.get())}),
          testing::rank_variables(0, 2, socket.port));
  EXPECT_EQ(status, 1);
  expect_one_line(err, "rank 1 did not come");
}

TEST_F(TrainRanks, RanksMustAgreeOnTheirOptions) {
  const auto socket = testing::listen_on_free_port();
  RankProcess first(command({"--store-listen-fd", std::to_string(socket.fd.get())}),
                    testing::rank_variables(0, 2, socket.port),
                    directory_ / "first");
  RankProcess second(
      command({"--seed", "9"}), testing::rank_variables(1, 2, socket.port), directory_ / "second");
  EXPECT_EQ(second.wait(kLimit), 2);
  expect_one_line(second.err(), "rank 1: started with other options");
  EXPECT_EQ(first.wait(kDeathLimit), 1);
  expect_one_line(first.err(), "rank 1: started with other options");
}

TEST_F(TrainRanks, TwoRunsAtOnceDoNotMeet) {
  auto first = start_ranks(2, command(), directory_ / "a");
  auto second = start_ranks(2, command({"--local-batch-size", "8"}), directory_ / "b");
  expect_success(first);
  expect_success(second);
  EXPECT_THAT(first[0].out(), HasSubstr("global batch size 32"));
  EXPECT_THAT(second[0].out(), HasSubstr("global batch size 16"));
}

TEST_F(TrainRanks, TakenPortIsOneLine) {
  const auto socket = testing::listen_on_free_port();
  const auto [status, err] = run(command(), testing::rank_variables(0, 2, socket.port));
  EXPECT_EQ(status, 2);
  expect_one_line(err, "port " + std::to_string(socket.port) + " is taken");
}

TEST_F(TrainRanks, AProgramThatListensAndNeverAnswersIsGivenUp) {
  const auto socket = testing::listen_on_free_port();
  const auto started = std::chrono::steady_clock::now();
  const auto [status, err] =
      run(command({"--timeout-s", "1"}), testing::rank_variables(1, 2, socket.port));
  EXPECT_EQ(status, 1);
  expect_one_line(err, "port " + std::to_string(socket.port));
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(30));
}

TEST_F(TrainRanks, SignalsEndARun) {
  auto ranks = start_ranks(2, endless(), directory_ / "rank", measured());
  RankProcess alone(endless(), measured(), directory_ / "alone");
  wait_for_updates(marks_directory(), 3);
  alone.send(SIGTERM);
  ranks[0].send(SIGINT);
  ranks[1].send(SIGINT);
  EXPECT_EQ(alone.wait(kDeathLimit), -SIGTERM);
  EXPECT_EQ(ranks[0].wait(kDeathLimit), 130);
  EXPECT_EQ(ranks[1].wait(kDeathLimit), 130);
}

TEST_F(TrainRanks, WrongInputIsOneLineAndStatus2) {
  const auto expect_refused = [this](const std::vector<std::string>& arguments,
                                     const std::string& part) {
    const auto [status, err] = run(arguments);
    EXPECT_EQ(status, 2) << part;
    expect_one_line(err, part);
  };
  expect_refused(command({"--epoch", "1"}), "did you mean --epochs?");
  expect_refused(command({"--epochs", "0"}), "--epochs 0");
  expect_refused(command({"--epochs", "two"}), "--epochs");
  expect_refused(command({"--local-batch-size", "-1"}), "--local-batch-size -1");
  expect_refused(command({"--global-batch-size", "17"}), "16 x 1 x 1 = 16");
  expect_refused(command({"--model", "resnet7"}), "did you mean");
  expect_refused(command({"--data-dir", "/no/such"}), "/no/such");
  expect_refused(command({"--curve", "/no/such/curve.csv"}), "--curve");
  expect_refused({kProgram, "probe", "resnet8", "--image-size", "64"}, "--image-size");
}

TEST_F(TrainRanks, DamagedDataIsOneLineThatNamesTheFile) {
  const auto file = directory_ / "train-images-idx3-ubyte.gz";
  std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  const auto [status, err] = run(command());
  EXPECT_EQ(status, 2);
  expect_one_line(err, file.native());
  EXPECT_THAT(err, HasSubstr("truncated"));
}

TEST_F(TrainRanks, CheckValidatesWithoutTraining) {
  auto check = [this](std::vector<std::string> more) {
    std::vector<std::string> arguments = {kProgram, "check", "--data-dir", directory_.path()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  };
  EXPECT_EQ(check({"--ranks", "2", "--global-batch-size", "128"}), std::pair(0, std::string()));
  const auto [status, err] = check({"--ranks", "3", "--global-batch-size", "128"});
  EXPECT_EQ(status, 2);
  expect_one_line(err, "64 x 3 x 1 = 192");
}

TEST_F(TrainRanks, CudaWithoutAGpuIsOneLine) {
  const auto [status, err] = run(command({"--device", "cuda"}), {{"CUDA_VISIBLE_DEVICES", ""}});
  EXPECT_EQ(status, 2);
  expect_one_line(err, "--device cuda");
}

TEST_F(TrainRanks, DivergedTrainingSaysSoAndWritesNoNan) {
  const auto curve = directory_ / "curve.csv";
  auto ranks =
      start_ranks(1,
                  command({"--learning-rate", "1e6", "--schedule", "constant", "--curve", curve}),
                  directory_ / "rank",
                  measured());
  expect_success(ranks);
  EXPECT_THAT(ranks[0].err(), HasSubstr("the training diverged"));
  const auto training = read_marks(marks_directory()).training.value();
  EXPECT_FALSE(training.loss.has_value());
  EXPECT_TRUE(training.metrics.contains("diverged_at_update"));
  EXPECT_EQ(training.top1_error, 100.0);
  EXPECT_THAT(testing::text_of(curve), Not(HasSubstr("nan")));
  EXPECT_THAT(ranks[0].out(), Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace joulescale
