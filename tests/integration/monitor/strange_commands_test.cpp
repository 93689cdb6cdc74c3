// SPDX-License-Identifier: Apache-2.0
// Commands that do what commands may do, many monitors at once, and secrets in the environment.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "joulescale/base/unique_fd.h"

#include "tests/integration/monitor/monitor_harness.h"

namespace joulescale::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

namespace fs = std::filesystem;

class StrangeCommands : public MonitorTest {};

TEST_F(StrangeCommands, AStormOfShortLivedChildrenIsReaped) {
  Program program(monitor({},
                          {"sh",
                           "-c",
                           "i=0; while [ $i -lt 200 ]; do (true & setsid true &) ; true & "
                           "i=$((i+1)); done; exit 9"}));
  EXPECT_EQ(program.wait_status(), 9);
  EXPECT_EQ(record().exit_status, 9);
}

TEST_F(StrangeCommands, ClosingEveryDescriptorHarmsNothing) {
  Program program(
      monitor({}, {"bash", "-c", "for fd in $(seq 0 60); do eval \"exec $fd>&-\"; done; exit 3"}));
  EXPECT_EQ(program.wait_status(), 3);
  EXPECT_EQ(program.err(), "");
  EXPECT_EQ(record().exit_status, 3);
}

TEST_F(StrangeCommands, AFullPipeThatNobodyReadsKeepsNoMonitorAfterASignal) {
  std::vector<std::string> arguments = {"bash",
                                        "-c",
                                        "mkfifo \"$0\"; exec 3<>\"$0\"; "
                                        "timeout -s KILL 0.5 cat /dev/zero >&3; exec \"$@\" 2>&3",
                                        (work_ / "pipe").native()};
  auto monitored = monitor({}, {"sh", "-c", "exit 9"});
  std::erase(monitored, "--quiet");
  arguments.insert(arguments.end(), monitored.begin(), monitored.end());
  Program program(arguments);
  ASSERT_TRUE(wait_for_file("run.json", std::chrono::seconds(10)));
  ::usleep(300'000);
  EXPECT_EQ(::kill(program.pid(), 0), 0);  // it waits for a reader
  const auto asked = std::chrono::steady_clock::now();
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait_status(), 9);
  EXPECT_LT(std::chrono::steady_clock::now() - asked, std::chrono::seconds(5));
}

TEST_F(StrangeCommands, ASessionOfItsOwnGetsWhatIsSentToTheMonitor) {
  Program program(monitor({}, {"setsid", JOULESCALE_SIGNAL_COUNTER, "0.8", "5", "10", "12"}),
                  {.new_session = true});
  ASSERT_TRUE(program.wait_for_output("ready"));
  program.signal(SIGUSR1);        // 10
  program.signal_group(SIGUSR2);  // 12: it would have it if it stood in the monitor's place
  EXPECT_EQ(program.wait_status(), 5);
  EXPECT_EQ(program.out(), "ready\ngot 10\ngot 12\nend\n");
}

TEST_F(StrangeCommands, ACommandThatOutlivesItsParentIsLeftAlone) {
  const std::string file = (work_ / "late").native();
  Program program(monitor({}, {"sh", "-c", "(sleep 0.8; echo done >'" + file + "') & exit 0"}));
  EXPECT_EQ(program.wait_status(), 0);
  EXPECT_LT(record().duration.value(), 0.7);
  for (int i = 0; i < 1000 && !fs::exists(file); ++i) {
    ::usleep(10'000);
  }
  EXPECT_TRUE(fs::exists(file));
}

TEST_F(StrangeCommands, ASetuidProgramIsSignalledAsItWouldBeWithoutUs) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "Skipped: making a setuid program needs root";
  }
  const fs::path program_file = work_ / "counter";
  fs::copy_file(JOULESCALE_SIGNAL_COUNTER, program_file);
  ASSERT_EQ(::chmod(program_file.c_str(), 04755), 0);
  ASSERT_EQ(::chmod(work_.path().c_str(), 0777), 0);
  std::vector<std::string> arguments = {
      "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
  const auto monitored = monitor({}, {program_file.native(), "0.6", "5", "15"});
  arguments.insert(arguments.end(), monitored.begin(), monitored.end());
  Program program(arguments, {.new_session = true});
  ASSERT_TRUE(program.wait_for_output("ready")) << program.err();
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait_status(), 5);
  EXPECT_EQ(program.out(), "ready\ngot 15\nend\n");
}

TEST_F(StrangeCommands, ManyMonitorsAtOnceEachHaveTheirOwnRecord) {
  const bool soak = std::getenv("JOULESCALE_SOAK") != nullptr;
  const int monitors = soak ? 1000 : 50;
  std::vector<std::unique_ptr<Program>> programs;
  programs.reserve(static_cast<std::size_t>(monitors));
  // All are there at the same moment, each waiting for a line of its own from the pipe.
  const fs::path go = work_ / "go";
  ASSERT_EQ(::mkfifo(go.c_str(), 0600), 0);
  const UniqueFd lines(::open(go.c_str(), O_RDWR | O_CLOEXEC));
  for (int i = 0; i < monitors; ++i) {
    programs.push_back(std::make_unique<Program>(
        std::vector<std::string>{joulescale(),
                                 "monitor",
                                 "--quiet",
                                 "--rate",
                                 "1",
                                 "--",
                                 "sh",
                                 "-c",
                                 fmt::format("read line <'{}'; exit {}", go.native(), i % 120)},
        ProgramOptions{.directory = work_.path()}));
    if (i % 50 == 49) {  // a wave
      ::usleep(soak ? 500'000 : 0);
    }
  }
  const auto records = work_ / "joulescale-runs";
  for (int i = 0; i < 12'000; ++i) {
    std::error_code missing;
    const auto begun = std::distance(fs::directory_iterator(records, missing), {});
    if (!missing && begun == monitors) {
      break;
    }
    ::usleep(10'000);
  }
  const std::string one_each(static_cast<std::size_t>(monitors), '\n');
  ASSERT_EQ(::write(lines.get(), one_each.data(), one_each.size()),
            static_cast<ssize_t>(one_each.size()));
  for (int i = 0; i < monitors; ++i) {
    EXPECT_EQ(programs[static_cast<std::size_t>(i)]->wait_status(), i % 120);
  }
  std::map<int, int> statuses;
  std::set<std::string> ids;
  for (const auto& entry : fs::directory_iterator(records)) {
    const auto run = read_run_record(entry.path() / "run.json");
    ASSERT_TRUE(run.ok()) << run.error().text();
    ++statuses[run->exit_status.value_or(-1)];
    EXPECT_THAT(lock_files(run->id), IsEmpty());
    EXPECT_TRUE(ids.insert(run->id).second);
  }
  for (int status = 0; status < std::min(monitors, 120); ++status) {
    EXPECT_EQ(statuses[status], (monitors - status + 119) / 120) << status;
  }
}

class Secrets : public MonitorTest, public ::testing::WithParamInterface<bool> {};

TEST_P(Secrets, InTheEnvironmentAreInNoFile) {
  const std::string secret = "hush-7f3a91";
  std::map<std::string, std::string> environment = {{"SLURM_JOB_NAME", "named"}};
  for (const char* name : {"MY_TOKEN",
                           "SLURM_JWT",
                           "NCCL_AUTH_TOKEN",
                           "OMP_KEY",
                           "CUDA_SECRET",
                           "PMIX_PASSWORD",
                           "OMPI_COMM_CRED",
                           "TORCH_AUTH",
                           "SLURM_COOKIE",
                           "PYTORCH_api_key",
                           "AWS_SECRET_ACCESS_KEY",
                           "HOSTNAME_PASS",
                           "PLAIN"}) {
    environment[name] = secret;
  }
  auto arguments =
      monitor(GetParam() ? std::vector<std::string>{"--redact"} : std::vector<std::string>{},
              {"sh", "-c", "exit 0"});
  std::erase(arguments, "--quiet");
  Program program(arguments, {.environment = environment});
  EXPECT_EQ(program.wait_status(), 0);
  EXPECT_THAT(program.err(), Not(HasSubstr(secret)));
  int files = 0;
  bool named = false;
  for (const auto& entry : fs::recursive_directory_iterator(run_directory())) {
    if (entry.is_regular_file()) {
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string bytes(std::istreambuf_iterator<char>(file), {});
      EXPECT_EQ(bytes.find(secret), std::string::npos) << entry.path();
      named = named || bytes.find("SLURM_JOB_NAME") != std::string::npos;
      ++files;
    }
  }
  EXPECT_GE(files, 4);
  EXPECT_TRUE(named) << "what is no secret is recorded";
}

INSTANTIATE_TEST_SUITE_P(Redacted, Secrets, ::testing::Bool(), [](const auto& test) {
  return test.param ? "Redacted" : "Whole";
});

}  // namespace
}  // namespace joulescale::testing
