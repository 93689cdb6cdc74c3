// SPDX-License-Identifier: Apache-2.0
// joulescale monitor and its command: status, signals, output, environment, directories.
#include <gmock/gmock.h>

#include "tests/integration/monitor/monitor_harness.h"
#include "tests/support/count_of.h"
#include "tests/support/powercap_tree.h"

namespace joulescale::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class MonitorStatus : public MonitorTest {};

TEST_F(MonitorStatus, IsTheCommandsOwn) {
  Program program(monitor({}, {"sh", "-c", "exit 7"}));
  EXPECT_EQ(program.wait_status(), 7);
  const RunRecord run = record();
  EXPECT_EQ(run.exit_status, 7);
  EXPECT_FALSE(run.signal.has_value());
  EXPECT_EQ(run.ranks.at(0).exit_status, 7);
  EXPECT_EQ(run.command, (std::vector<std::string>{"sh", "-c", "exit 7"}));
  EXPECT_EQ(run.devices.kind, "cpu_rank");
  EXPECT_EQ(run.devices.count, 1);
}

TEST_F(MonitorStatus, EndsByTheCommandsSignal) {
  for (const int signal : {SIGKILL, SIGTERM, SIGSEGV}) {
    std::filesystem::remove_all(run_directory());
    Program program(monitor({}, {"sh", "-c", "kill -" + std::to_string(signal) + " $$"}));
    const int status = program.wait();
    ASSERT_TRUE(WIFSIGNALED(status)) << signal;
    EXPECT_EQ(WTERMSIG(status), signal);
    EXPECT_FALSE(WCOREDUMP(status));
    EXPECT_EQ(record().signal, signal);
  }
}

TEST_F(MonitorStatus, NotFoundIs127AndNotExecutable126) {
  Program missing(monitor({}, {"no-such-command-anywhere"}));
  EXPECT_EQ(missing.wait_status(), 127);
  EXPECT_THAT(missing.err(), HasSubstr("'no-such-command-anywhere' not found"));
  std::filesystem::remove_all(run_directory());
  std::ofstream(work_ / "text") << "hello";
  Program not_executable(monitor({}, {(work_ / "text").native()}));
  EXPECT_EQ(not_executable.wait_status(), 126);
}

TEST_F(MonitorStatus, OutputArgumentsAndEnvironmentPassUnchanged) {
  const std::vector<std::string> command = {
      "sh", "-c", "printf '%s\\n' \"$@\"; env | sort; cat", "x", "--", "a b", "-q", "$HOME", ""};
  Program direct(command, {.environment = {{"JS_TEST", "v w"}}});
  EXPECT_EQ(direct.wait_status(), 0);
  Program monitored(monitor({}, command), {.environment = {{"JS_TEST", "v w"}}});
  EXPECT_EQ(monitored.wait_status(), 0);
  std::string output = monitored.out();
  const std::size_t line = output.find("JOULESCALE_RUN=");
  ASSERT_NE(line, std::string::npos);
  output.erase(line, output.find('\n', line) + 1 - line);
  EXPECT_EQ(output, direct.out());
  EXPECT_EQ(monitored.err(), "");
}

TEST_F(MonitorStatus, SummaryGoesToStandardErrorAndNamesEstimates) {
  Program program({joulescale(), "monitor", "-o", run_directory().native(), "--", "echo", "hi"});
  EXPECT_EQ(program.wait_status(), 0);
  EXPECT_EQ(program.out(), "hi\n");
  EXPECT_THAT(program.err(), HasSubstr("record: " + run_directory().native()));
  EXPECT_THAT(program.err(), HasSubstr("estimated"));
  EXPECT_THAT(program.err(), HasSubstr("ESTIMATED as a whole"));
}

TEST_F(MonitorStatus, AStandardErrorThatNobodyReadsChangesNothing) {
  Program program({"bash",
                   "-c",
                   "'" + joulescale() + "' monitor --output '" + run_directory().native() +
                       "' -- sh -c 'sleep 0.3; exit 3' 2>&1 | true; exit ${PIPESTATUS[0]}"});
  EXPECT_EQ(program.wait_status(), 3);
  EXPECT_EQ(record().exit_status, 3);
}

TEST_F(MonitorStatus, ClosedStandardStreamsAreNotTakenForTheJournal) {
  Program program({"bash",
                   "-c",
                   "exec 2>&- <&-; '" + joulescale() + "' monitor --output '" +
                       run_directory().native() + "' -- sh -c 'true <&0; exit 4'"});
  const int status = program.wait_status();
  EXPECT_TRUE(status == 4 || status == 1 || status == 2) << status;  // the command finds 0 closed
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(run_directory() / "nodes")) {
    if (entry.path().filename() == "journal-0") {
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string bytes((std::istreambuf_iterator<char>(file)), {});
      EXPECT_THAT(bytes, Not(HasSubstr("record: ")));
    }
  }
  EXPECT_FALSE(record().launch.key.empty());
}

TEST_F(MonitorStatus, LaunchedRanksAreTheDevicesOfARun) {
  Program program(monitor({}, {joulescale(), "launch", "--ranks", "3", "--", "sleep", "0.1"}));
  EXPECT_EQ(program.wait_status(), 0);
  EXPECT_EQ(record().devices.kind, "cpu_rank");
  EXPECT_EQ(record().devices.count, 3);
}

/// A shell that counts the signals it gets.
std::vector<std::string> signal_counter(const std::string& name) {
  return {"sh",
          "-c",
          "trap 'echo got' " + name +
              "; echo ready; i=0; while [ $i -lt 12 ]; do sleep 0.05; i=$((i+1)); done; exit 5"};
}

class MonitorSignals : public MonitorTest,
                       public ::testing::WithParamInterface<std::pair<const char*, int>> {};

TEST_P(MonitorSignals, SentToTheMonitorAloneReachTheCommandOnce) {
  const auto [name, number] = GetParam();
  Program program(monitor({}, signal_counter(name)), {.new_session = true});
  ASSERT_TRUE(program.wait_for_output("ready"));
  program.signal(number);
  EXPECT_EQ(program.wait_status(), 5);
  EXPECT_EQ(count_of(program.out(), "got"), 1U);
}

TEST_P(MonitorSignals, SentToTheGroupReachTheCommandOnce) {
  const auto [name, number] = GetParam();
  Program program(monitor({}, signal_counter(name)), {.new_session = true});
  ASSERT_TRUE(program.wait_for_output("ready"));
  program.signal_group(number);
  EXPECT_EQ(program.wait_status(), 5);
  EXPECT_EQ(count_of(program.out(), "got"), 1U);
}

INSTANTIATE_TEST_SUITE_P(Signals,
                         MonitorSignals,
                         ::testing::Values(std::pair{"TERM", SIGTERM},
                                           std::pair{"INT", SIGINT},
                                           std::pair{"USR1", SIGUSR1},
                                           std::pair{"HUP", SIGHUP}),
                         [](const auto& test) { return std::string(test.param.first); });

TEST_F(MonitorStatus, CommandThatDiesOfAForwardedSignalIsRecorded) {
  Program program(monitor({}, {"sh", "-c", "echo ready; exec sleep 30"}), {.new_session = true});
  ASSERT_TRUE(program.wait_for_output("ready"));
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait_status(), -SIGTERM);
  EXPECT_EQ(record().signal, SIGTERM);
}

TEST_F(MonitorStatus, CommandSurvivesTheMonitorsDeath) {
  Program program(monitor({}, {"sh", "-c", "echo ready; sleep 0.5; echo alive"}),
                  {.new_session = true});
  ASSERT_TRUE(program.wait_for_output("ready"));
  program.signal(SIGKILL);
  EXPECT_EQ(program.wait_status(), -SIGKILL);
  EXPECT_TRUE(program.wait_for_output("alive"));
}

class MonitorDirectories : public MonitorTest {};

TEST_F(MonitorDirectories, ForeignAndUnwritableOnesAreRefusedBeforeTheStart) {
  std::ofstream(work_ / "file") << "x";
  for (const std::string& directory :
       {work_.path().native(), (work_ / "file").native(), std::string("/proc/nowhere/run")}) {
    Program program({joulescale(), "monitor", "-o", directory, "--", "sh", "-c", "echo started"});
    EXPECT_EQ(program.wait_status(), 2) << directory;
    EXPECT_EQ(program.out(), "") << directory;
    EXPECT_EQ(count_of(program.err(), "\n"), 1U) << program.err();
    EXPECT_THAT(program.err(), HasSubstr(directory));
  }
}

TEST_F(MonitorDirectories, DefaultNamesAreNumbered) {
  for (int i = 0; i < 3; ++i) {
    Program program({joulescale(), "monitor", "-q", "--", "true"}, {.directory = work_.path()});
    EXPECT_EQ(program.wait_status(), 0);
  }
  for (const char* name : {"true", "true-2", "true-3"}) {
    EXPECT_TRUE(std::filesystem::exists(work_ / "joulescale-runs" / name / "run.json")) << name;
  }
}

TEST_F(MonitorDirectories, ANamelessCommandHasOneToo) {
  for (const char* command : {"", "nothing/", ".."}) {
    Program program({joulescale(), "monitor", "--quiet", "--", command},
                    ProgramOptions{.directory = work_.path()});
    EXPECT_GE(program.wait_status(), 126);
  }
  for (const char* name : {"run", "run-2", "run-3"}) {
    EXPECT_TRUE(std::filesystem::exists(work_ / "joulescale-runs" / name / "run.json")) << name;
  }
  EXPECT_FALSE(std::filesystem::exists(work_ / "run.json"));
}

TEST_F(MonitorDirectories, TheCommandMayRemoveWhereItWasStarted) {
  std::filesystem::create_directory(work_ / "start");
  Program program({joulescale(),
                   "monitor",
                   "--quiet",
                   "--output",
                   "../run",
                   "--",
                   "rmdir",
                   (work_ / "start").native()},
                  ProgramOptions{.directory = work_ / "start"});
  EXPECT_EQ(program.wait_status(), 0);
  EXPECT_EQ(program.err(), "");
  EXPECT_EQ(record().exit_status, 0);
}

TEST_F(MonitorDirectories, AStartThatFailsLeavesItFree) {
  Program failing(monitor({}, {"true"}),
                  ProgramOptions{.environment = {{"SLURMD_NODENAME", std::string(300, 'n')}}});
  EXPECT_EQ(failing.wait_status(), 2) << failing.err();
  Program program(monitor({}, {"true"}));
  EXPECT_EQ(program.wait_status(), 0) << program.err();
}

TEST_F(MonitorDirectories, IsPrivateAndHoldsTheLaunch) {
  std::ofstream(work_ / "study.json")
      << R"({"name": "s", "series": "strong", "repetition": 2, "axes": {"gbs": 64}})";
  Program program(
      monitor({"--study", (work_ / "study.json").native(), "--redact"}, {"echo", "password1"}),
      {.environment = {{"OMP_NUM_THREADS", "2"}, {"NCCL_AUTH_TOKEN", "hush"}}});
  EXPECT_EQ(program.wait_status(), 0);
  EXPECT_EQ(std::filesystem::status(run_directory()).permissions(),
            std::filesystem::perms::owner_all);
  std::ifstream file(run_directory() / "launch.json");
  const std::string launch(std::istreambuf_iterator<char>(file), {});
  EXPECT_THAT(launch, HasSubstr("OMP_NUM_THREADS"));
  EXPECT_THAT(launch, Not(HasSubstr("hush")));
  EXPECT_THAT(launch, Not(HasSubstr("password1")));
  const RunRecord run = record();
  EXPECT_TRUE(run.command.empty());
  EXPECT_EQ(run.study->series, "strong");
  EXPECT_EQ(run.study->repetition, 2);
}

TEST_F(MonitorDirectories, RemovedDirectoryDoesNotChangeTheStatus) {
  Program program(
      monitor({}, {"sh", "-c", "rm -rf '" + run_directory().native() + "'; sleep 0.2; exit 6"}));
  EXPECT_EQ(program.wait_status(), 6);
  EXPECT_THAT(program.err(), HasSubstr("record could not be written"));
}

TEST_F(MonitorDirectories, FullDiskIsFlaggedAndDoesNotChangeTheStatus) {
  PowercapTree tree;  // its journal is larger than the limit, its records are smaller
  tree.add_zone("intel-rapl:0", "package-0", 100);
  tree.add_zone("intel-rapl:0:0", "dram", 100);
  Program program(
      monitor({"--rate", "100", "--root", tree.root().native()}, {"sh", "-c", "sleep 5; exit 4"}),
      {.file_size_limit = 6000});
  EXPECT_EQ(program.wait_status(), 4);
  EXPECT_THAT(program.err(), HasSubstr("journal is incomplete"));
  EXPECT_THAT(record().flags, Contains("disk_full"));
  std::filesystem::remove_all(run_directory());
  Program nothing_fits(monitor({}, {"sh", "-c", "exit 4"}), {.file_size_limit = 1500});
  EXPECT_EQ(nothing_fits.wait_status(), 4);
  EXPECT_FALSE(std::filesystem::exists(run_directory() / "run.json"));
}

class MonitorChildren : public MonitorTest {};

TEST_F(MonitorChildren, MeasurementEndsWithTheCommand) {
  Program program(monitor({}, {"sh", "-c", "setsid sleep 30 >/dev/null 2>&1 & echo $!; exit 3"}));
  EXPECT_EQ(program.wait_status(), 3);
  const pid_t left = std::stoi(program.out());
  EXPECT_EQ(::kill(left, 0), 0);  // not harmed
  ::kill(left, SIGKILL);
  EXPECT_THAT(program.err(), HasSubstr("no longer measured"));
  EXPECT_LT(record().duration.value(), 10.0);
}

TEST_F(MonitorChildren, OnRequestItEndsWithTheLastOfThem) {
  Program program(
      monitor({"--wait-for-children"}, {"sh", "-c", "(setsid sh -c 'sleep 0.7' &) ; exit 3"}));
  EXPECT_EQ(program.wait_status(), 3);
  EXPECT_GE(record().duration.value(), 0.7);
}

class MonitorUsage : public MonitorTest {};

TEST_F(MonitorUsage, MistakesAreOneLineAndStatus2) {
  struct Mistake {
    std::vector<std::string> arguments;
    std::string named;
  };
  const std::string study = (work_ / "study.json").native();
  std::ofstream(study) << R"({"name": "x", "serie": "gpus"})";
  const std::vector<Mistake> mistakes = {
      {{"monitor"}, "no command given"},
      {{"monitor", "--rate", "0", "--", "true"}, "--rate"},
      {{"monitor", "--rate", "1000", "--", "true"}, "--rate"},
      {{"monitor", "--rate", "nan", "--", "true"}, "'nan' is not allowed; allowed: a number"},
      {{"monitor", "--baseline", "10", "--", "true"},
       "--baseline: '10' is not allowed; allowed: 1s"},
      {{"monitor", "--baseline", "0s", "--", "true"}, "--baseline: '0s'"},
      {{"monitor", "--ram-watts", "1e308", "--", "true"}, "--ram-watts"},
      {{"monitor", "--root=", "--output", "x", "--", "true"}, "option '--root=' has no value"},
      {{"monitor", "--root", "/nonexistent", "--", "true"}, "'/nonexistent' is no directory"},
      {{"monitor", "--nvml-library", "/none.so", "--", "true"},
       "--nvml-library: '/none.so' is not"},
      {{"sensors", "--nvml-library", "/none.so"}, "'/none.so' is not there"},
      {{"monitor", "--nvml-library", "/etc/passwd", "--", "true"}, "is no shared library"},
      {{"monitor", "--require", "warp", "--", "true"}, "--require: 'warp'"},
      {{"monitor", "--require", "cpu,,gpu", "--", "true"}, "--require: '' is no component"},
      {{"monitor", "--study", "/nonexistent", "--", "true"}, "--study"},
      {{"monitor", "--study", study, "--", "true"}, "'serie' is no key; allowed are name, series"},
      {{"monitor", "--rat", "3", "--", "true"}, "unknown option '--rat'; did you mean --rate?"},
      {{"monitor", "--rat=3", "--", "true"}, "unknown option '--rat'; did you mean --rate?"},
      {{"monitor", "--rat", "3", "true", "--rate", "5"}, "unknown option '--rat'"},
      {{"monitor", "--rate", "3", "--rate", "4", "--", "true"}, "'--rate' is given more than once"},
      {{"monitor", "--journal-budget"}, "option '--journal-budget' has no value"},
      {{"monitor", "--devices", "x", "--", "true"}, "'x' is not allowed; allowed: visible, all"},
      {{"sensors", "--root", "/nonexistent"}, "'/nonexistent' is no directory"},
      {{"monitor", "-o", "", "--", "true"}, "option '-o' has an empty value"},
      {{"monitor", "--launch-id", "", "--", "true"}, "option '--launch-id' has an empty value"},
      {{"monitor", "--cpu-thread-watts", "0", "--", "true"}, "0.001"},
      {{"launch", "--ranks", "1"}, "no program given"},
      {{"sweep", "rum", "x"}, "unknown command 'rum' (commands: plan, run, status)"},
      {{"montior"}, "unknown command 'montior' (commands: "},
      {{"sensors", "x"}, "unexpected argument 'x' (see joulescale sensors --help)"},
  };
  for (const Mistake& mistake : mistakes) {
    std::vector<std::string> arguments = {joulescale()};
    arguments.insert(arguments.end(), mistake.arguments.begin(), mistake.arguments.end());
    Program program(arguments, {.directory = work_.path()});
    EXPECT_EQ(program.wait_status(), 2) << program.err();
    EXPECT_EQ(count_of(program.err(), "\n"), 1U) << program.err();
    EXPECT_THAT(program.err(), HasSubstr(mistake.named));
    EXPECT_FALSE(std::filesystem::exists(work_ / "joulescale-runs"));
  }
}

TEST_F(MonitorUsage, RequiredButMissingIsStatus3AndNothingStarts) {
  Program program(
      monitor({"--require", "gpu", "--nvml-library", "/dev/null"}, {"sh", "-c", "echo started"}));
  EXPECT_EQ(program.wait_status(), 3);
  EXPECT_EQ(program.out(), "");
  EXPECT_THAT(program.err(), HasSubstr("required and not there: gpu"));
  EXPECT_FALSE(std::filesystem::exists(run_directory()));
}

TEST_F(MonitorUsage, ARankOfAnUnnamedLaunchMustBeToldItsLaunch) {
  Program program(monitor({}, {"true"}), {.environment = {{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}}});
  EXPECT_EQ(program.wait_status(), 2);
  EXPECT_THAT(program.err(), HasSubstr("rank 1 of 4"));
  EXPECT_THAT(program.err(), HasSubstr("--launch-id"));
  EXPECT_FALSE(std::filesystem::exists(run_directory()));
}

TEST_F(MonitorUsage, WrappedLauncherIsSaidAndFlagged) {
  std::ofstream(work_ / "mpirun") << "#!/bin/sh\nexit 0\n";
  std::filesystem::permissions(work_ / "mpirun", std::filesystem::perms::owner_all);
  Program program(monitor({}, {(work_ / "mpirun").native(), "-n", "2", "x"}));
  EXPECT_EQ(program.wait_status(), 0);
  EXPECT_THAT(program.err(), HasSubstr("is a launcher"));
  EXPECT_THAT(record().flags, Contains("launcher_wrapped"));
}

}  // namespace
}  // namespace joulescale::testing
