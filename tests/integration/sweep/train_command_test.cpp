// SPDX-License-Identifier: Apache-2.0
// joulescale train and sweeps of kind "train", with a shell script in the place of joulescale-train
// beside a copy of joulescale.
#include <gmock/gmock.h>

#include "tests/integration/sweep/study_fixture.h"

namespace joulescale {
namespace {

using ::testing::HasSubstr;
using testing::ProgramRun;
namespace fs = std::filesystem;

class TrainCommand : public testing::StudyTest {
 protected:
  TrainCommand() {
    fs::copy_file(program_, copy_);
    std::ofstream(dir_ / "joulescale-train")
        << "#!/bin/sh\n"
           "for a in \"$@\"; do case \"$a\" in --modle=*)\n"
           "  echo \"joulescale-train: --modle: unknown option; did you mean --model?\" >&2; exit "
           "2;;\n"
           "esac; done\n"
           "[ \"$1\" = check ] && exit 0\n"
           "echo \"rank $RANK of $WORLD_SIZE: $*\"\n"
           "case \"$*\" in *fail*) [ $RANK = 1 ] && exit 5; sleep 30;; esac\n"
           "exit 0\n";
    fs::permissions(dir_ / "joulescale-train", fs::perms::owner_all);
  }
  const fs::path copy_ = dir_ / "joulescale";

  void write_training_study(const std::string& option) {
    std::ofstream(file_) << "schema = \"joulescale.study/1\"\nname = \"t\"\n[workload]\n"
                            "kind = \"train\"\n[workload.options]\nepochs = 1\n"
                         << option
                         << "\n[[series]]\nname = \"s\"\ndevices = 2\nlocal_batch_size = 8\n";
  }
};

TEST_F(TrainCommand, MeasuresRanksOfTheTrainer) {
  ProgramRun run({copy_.native(),
                  "train",
                  "--ranks",
                  "2",
                  "--output",
                  (dir_ / "run").native(),
                  "--model",
                  "resnet8",
                  "--note=a b"});
  EXPECT_EQ(run.wait(), 0) << run.err();
  EXPECT_THAT(run.out(), HasSubstr("rank 0 of 2: --model resnet8 --note=a b --store-listen-fd="));
  EXPECT_THAT(run.out(), HasSubstr("rank 1 of 2: --model resnet8 --note=a b\n"));
  EXPECT_TRUE(load_runs(dir_ / "run"));
}

TEST_F(TrainCommand, WrongOptionsAreOneLineBeforeAnythingIsMade) {
  ProgramRun run({copy_.native(),
                  "train",
                  "--ranks=2",
                  "--output",
                  (dir_ / "run").native(),
                  "--modle=resnet8"});
  EXPECT_EQ(run.wait(), 2);
  EXPECT_EQ(run.err(), "joulescale train: --modle: unknown option; did you mean --model?\n");
  EXPECT_FALSE(fs::exists(dir_ / "run"));
}

TEST_F(TrainCommand, AFailingRankIsTheStatusOfTheRun) {
  ProgramRun run(
      {copy_.native(), "train", "--ranks=2", "--output", (dir_ / "run").native(), "--fail=yes"});
  EXPECT_EQ(run.wait(), 5);
  EXPECT_THAT(run.err(), HasSubstr("rank 1 ended with status 5"));
  EXPECT_TRUE(nothing_runs());
}

TEST_F(TrainCommand, WithoutATrainerItSaysHowToBuildOne) {
  fs::remove(dir_ / "joulescale-train");
  ProgramRun run({copy_.native(), "train", "--ranks=1", "--model=resnet8"});
  EXPECT_EQ(run.wait(), 2);
  EXPECT_THAT(run.err(), HasSubstr("joulescale-train' is not built: run ./quickstart"));
}

TEST_F(TrainCommand, ASweepChecksItsOptionsFirstAndNamesTheirLine) {
  write_training_study("modle = \"resnet8\"");
  ProgramRun run({copy_.native(), "sweep", "run", file_.native(), "--output", study_.native()});
  EXPECT_EQ(run.wait(), 2);
  EXPECT_EQ(run.err(),
            "joulescale sweep: " + file_.native() +
                ":7: workload.options: --modle: unknown option; did you mean --model?\n");
  EXPECT_FALSE(fs::exists(study_));
}

TEST_F(TrainCommand, ASweepGivesTheTrainerItsOptions) {
  write_training_study("flip = true\ncrop = false\nmodel = \"resnet8\"");
  ProgramRun run({copy_.native(), "sweep", "run", file_.native(), "--output", study_.native()});
  EXPECT_EQ(run.wait(), 0) << run.err();
  EXPECT_THAT(ProgramRun::text_of(study_ / "logs/g2-lbs8-gbs16-r0.1.log"),
              HasSubstr("rank 1 of 2: --epochs=1 --flip --model=resnet8 --local-batch-size=8 "
                        "--seed=0\n"));
}

}  // namespace
}  // namespace joulescale
