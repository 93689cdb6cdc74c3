// SPDX-License-Identifier: Apache-2.0
// joulescale launch with shell scripts as ranks.
#include <arpa/inet.h>
#include <sys/socket.h>

#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/program_run.h"

namespace joulescale {
namespace {

using testing::eventually;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::processes_with;
using testing::ProgramRun;
using testing::TempDir;

const std::string kProgram = JOULESCALE_BIN_DIR "/joulescale";

std::vector<std::string> launch(int ranks, const std::string& script) {
  return {kProgram, "launch", "--ranks", std::to_string(ranks), "--", "sh", "-c", script};
}

std::set<std::string> lines(const std::string& text) {
  std::set<std::string> found;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    found.insert(line);
  }
  return found;
}

TEST(Launch, GivesEachRankTorchrunsVariables) {
  ProgramRun run(launch(3, "echo $RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $MASTER_ADDR"));
  EXPECT_EQ(run.wait(), 0);
  EXPECT_EQ(lines(run.out()),
            (std::set<std::string>{"0 0 3 3 127.0.0.1", "1 1 3 3 127.0.0.1", "2 2 3 3 127.0.0.1"}));
}

TEST(Launch, AllRanksShareAPortThatIsFree) {
  ProgramRun first(launch(2, "echo $MASTER_PORT; sleep 0.3"));
  ProgramRun second(launch(2, "echo $MASTER_PORT; sleep 0.3"));
  EXPECT_EQ(first.wait(), 0);
  EXPECT_EQ(second.wait(), 0);
  EXPECT_EQ(lines(first.out()).size(), 1U);
  EXPECT_EQ(lines(second.out()).size(), 1U);
  EXPECT_NE(first.out(), second.out());
}

TEST(Launch, RanksHaveCoresOfTheirOwnOrAreNotPinned) {
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  const std::string show = "grep Cpus_allowed_list /proc/self/status";
  if (cores >= 2) {
    ProgramRun pinned(launch(2, show));
    EXPECT_EQ(pinned.wait(), 0);
    EXPECT_EQ(lines(pinned.out()).size(), 2U) << pinned.out();
    EXPECT_EQ(pinned.err(), "");
  }
  ProgramRun crowded(launch(cores + 1, show));
  EXPECT_EQ(crowded.wait(), 0);
  EXPECT_EQ(lines(crowded.out()).size(), 1U) << crowded.out();
  EXPECT_THAT(crowded.err(), HasSubstr("they share cores, no rank is pinned"));
}

TEST(Launch, TheListeningSocketGoesToRankZeroOnly) {
  const std::string script =
      "for fd in /proc/self/fd/*; do case $(readlink $fd) in socket:*) echo $RANK $fd;; esac; "
      "done; echo \"$RANK $*\"";
  ProgramRun run(
      {kProgram, "launch", "--ranks", "2", "--pass-listen-fd", "--", "sh", "-c", script, "name"});
  EXPECT_EQ(run.wait(), 0);
  const auto found = lines(run.out());
  EXPECT_EQ(found.size(), 3U) << run.out();
  EXPECT_THAT(*found.begin(), HasSubstr("0 --store-listen-fd="));
  EXPECT_TRUE(found.contains("1 ")) << run.out();
}

TEST(Launch, ArgumentsArriveUnchanged) {
  ProgramRun run({kProgram,
                  "launch",
                  "--ranks=1",
                  "--",
                  "printf",
                  "%s|",
                  "sweep",
                  "--ranks=3",
                  "$HOME \"x\" \\",
                  "",
                  "-h"});
  EXPECT_EQ(run.wait(), 0);
  EXPECT_EQ(run.out(), "sweep|--ranks=3|$HOME \"x\" \\||-h|");
}

TEST(Launch, OneFailingRankEndsAllAndIsNamed) {
  const TempDir dir;
  const std::string token = dir.path().native();
  ProgramRun run(
      launch(3, ": " + token + "; if [ $RANK = 1 ]; then sleep 0.2; exit 7; fi; sleep 99"));
  EXPECT_EQ(run.wait(), 7);
  EXPECT_THAT(run.err(), HasSubstr("rank 1 ended with status 7; the other ranks are stopped"));
  EXPECT_THAT(processes_with(token), IsEmpty());
}

TEST(Launch, ARankThatIgnoresTheRequestIsKilled) {
  const TempDir dir;
  const std::string token = dir.path().native();
  ProgramRun run(launch(
      2,
      ": " + token +
          "; if [ $RANK = 0 ]; then kill -9 $$; fi; trap '' TERM; while :; do sleep 9; done"));
  EXPECT_EQ(run.wait(std::chrono::seconds(15)), 137);
  EXPECT_THAT(run.err(), HasSubstr("rank 0 was killed by signal 9"));
  EXPECT_THAT(processes_with(token), IsEmpty());
}

TEST(Launch, ASignalReachesEachRankOnce) {
  const TempDir dir;
  const std::string file = (dir / "signals").native();
  ProgramRun run(launch(2,
                        "trap 'echo got >> " + file + "' INT; echo ready >> " + file +
                            "; for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.1; done; exit 4"));
  ASSERT_TRUE(eventually([&] { return ProgramRun::text_of(file) == "ready\nready\n"; }));
  run.signal(SIGINT);
  EXPECT_EQ(run.wait(), 4);
  EXPECT_EQ(ProgramRun::text_of(file), "ready\nready\ngot\ngot\n");
  EXPECT_EQ(run.err().find("the other ranks"), std::string::npos) << run.err();
}

TEST(Launch, KilledItTakesItsRanksWithIt) {
  const std::string seconds = "9" + std::to_string(::getpid());  // a command line of our own
  ProgramRun run({kProgram, "launch", "--ranks=2", "--", "sleep", seconds});
  ASSERT_TRUE(eventually([&] { return processes_with(seconds).size() == 3; }));
  run.signal(SIGKILL);
  EXPECT_EQ(run.wait(), 137);
  EXPECT_TRUE(eventually([&] { return processes_with(seconds).empty(); }));
}

TEST(Launch, ProcessesThatARankLeavesBehindAreEnded) {
  const TempDir dir;
  const std::string token = dir.path().native();
  ProgramRun run(launch(1, "(setsid sh -c ': " + token + "; sleep 999' &) ; exit 0"));
  EXPECT_EQ(run.wait(), 0);
  EXPECT_THAT(processes_with(token), IsEmpty());
}

TEST(Launch, ATakenPortIsOneLineAndStatusTwo) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_GE(fd, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(::bind(fd, generic, size), 0);
  ASSERT_EQ(::listen(fd, 1), 0);
  ASSERT_EQ(::getsockname(fd, generic, &size), 0);
  const std::string port = std::to_string(ntohs(address.sin_port));
  ProgramRun run({kProgram, "launch", "--ranks=2", "--master-port", port, "--", "echo", "started"});
  EXPECT_EQ(run.wait(), 2);
  EXPECT_EQ(run.out(), "");
  EXPECT_EQ(lines(run.err()).size(), 1U);
  EXPECT_THAT(run.err(), HasSubstr("127.0.0.1:" + port + ": Address already in use"));
  ::close(fd);
}

TEST(Launch, AProgramThatCannotStartHasAShellsStatus) {
  ProgramRun missing({kProgram, "launch", "--ranks=2", "--", "/no/such/program"});
  EXPECT_EQ(missing.wait(), 127);
  EXPECT_THAT(missing.err(), HasSubstr("cannot start '/no/such/program'"));
  ProgramRun text({kProgram, "launch", "--ranks=2", "--", "/etc/passwd"});
  EXPECT_EQ(text.wait(), 126);
}

}  // namespace
}  // namespace joulescale
