// SPDX-License-Identifier: Apache-2.0
// Every signal reaches the command exactly once, from a terminal, to the group or to the monitor.
#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/integration/monitor/monitor_harness.h"
#include "tests/support/count_of.h"
#include "tests/support/terminal.h"

namespace joulescale::testing {
namespace {

using namespace std::chrono_literals;

/// Longer than the monitor waits for its witness, so that a late decision shows.
constexpr auto kStopped = 1200ms;

std::string got(int signal) { return fmt::format("got {:02}", signal); }

/// All that somebody may send on purpose.
std::vector<int> many_signals() {
  return {SIGHUP,  SIGINT, SIGQUIT, SIGUSR1,  SIGUSR2, SIGPIPE,   SIGALRM,
          SIGTERM, SIGURG, SIGXCPU, SIGXFSZ,  SIGPROF, SIGVTALRM, SIGWINCH,
          SIGIO,   SIGPWR, SIGCONT, SIGRTMIN, 40,      SIGRTMAX};
}

class CountedSignals : public MonitorTest {
 protected:
  static std::vector<std::string> counter(const std::string& seconds,
                                          int status,
                                          const std::vector<int>& signals) {
    std::vector<std::string> command = {JOULESCALE_SIGNAL_COUNTER, seconds, std::to_string(status)};
    for (const int signal : signals) {
      command.push_back(std::to_string(signal));
    }
    return command;
  }
  /// Sends every signal by `send`.
  void expect_storm_once_each(void (Program::*send)(int) const) const {
    Program program(monitor({}, counter("1", 5, many_signals())), {.new_session = true});
    ASSERT_TRUE(program.wait_for_output("ready"));
    for (const int signal : many_signals()) {
      (program.*send)(signal);
    }
    EXPECT_EQ(program.wait_status(), 5);
    for (const int signal : many_signals()) {
      EXPECT_EQ(count_of(program.out(), got(signal)), 1U) << signal;
    }
  }
};

TEST_F(CountedSignals, FromTheKeyboardOnce) {
  TerminalProgram program(monitor({}, counter("1", 5, {SIGINT, SIGQUIT, SIGTSTP})));
  ASSERT_TRUE(program.wait_for("ready"));
  for (const auto& [key, signal] :
       {std::pair{"\x03", SIGINT}, std::pair{"\x1c", SIGQUIT}, std::pair{"\x1a", SIGTSTP}}) {
    program.type(key);
    EXPECT_TRUE(program.wait_for(got(signal))) << program.shown();
  }
  EXPECT_EQ(program.wait_status(), 5);
  for (const int signal : {SIGINT, SIGQUIT, SIGTSTP}) {
    EXPECT_EQ(program.count(got(signal)), 1U) << program.shown();
  }
  EXPECT_EQ(record().exit_status, 5);
}

TEST_F(CountedSignals, ACommandThatTheKeyboardStopsGoesOnInTheForeground) {
  std::string line;
  for (const std::string& word : monitor({}, counter("1", 5, {SIGCONT, SIGUSR1}))) {
    line += word + " ";
  }
  TerminalProgram shell({"bash", "--norc", "--noprofile", "-i"});
  shell.type(line + "\n");
  ASSERT_TRUE(shell.wait_for("ready")) << shell.shown();
  shell.type("\x1a");
  ASSERT_TRUE(shell.wait_for("Stopped")) << shell.shown();
  shell.type("kill -USR1 %1\n");  // to the whole job
  std::this_thread::sleep_for(kStopped);
  EXPECT_EQ(shell.count(got(SIGUSR1)), 0U) << shell.shown();
  shell.type("fg\n");
  ASSERT_TRUE(shell.wait_for("end")) << shell.shown();
  shell.type("echo status=$?\nexit\n");
  EXPECT_TRUE(shell.wait_for("status=5")) << shell.shown();
  shell.wait_status();
  EXPECT_EQ(shell.count(got(SIGCONT)), 1U) << shell.shown();
  EXPECT_EQ(shell.count(got(SIGUSR1)), 1U) << shell.shown();
}

TEST_F(CountedSignals, AStormToTheMonitorAloneArrivesOnceEach) {
  expect_storm_once_each(&Program::signal);
}

TEST_F(CountedSignals, AStormToTheGroupArrivesOnceEach) {
  expect_storm_once_each(&Program::signal_group);
}

/// Long enough for the monitor to see that its command has left the group.
constexpr auto kLeftGroupIsSeen = 1300ms;

TEST_F(CountedSignals, ACommandInAGroupOfItsOwnGetsWhatIsSentToOurs) {
  std::vector<std::string> command = counter("3", 5, {SIGUSR1, SIGUSR2, SIGHUP, SIGCONT});
  command.insert(command.begin(), "setsid");
  Program program(monitor({}, command), {.new_session = true});
  ASSERT_TRUE(program.wait_for_output("ready"));
  program.signal_group(SIGUSR1);
  std::this_thread::sleep_for(kLeftGroupIsSeen);
  program.signal_group(SIGUSR2);
  program.signal(SIGHUP);
  std::this_thread::sleep_for(100ms);
  const std::vector<pid_t> all = program.children();
  EXPECT_EQ(all.size(), 3U) << "the command and two witnesses";
  for (const pid_t child : all) {  // as Slurm signals each process of a step
    ::kill(child, SIGCONT);
  }
  program.signal(SIGCONT);
  EXPECT_EQ(program.wait_status(), 5);
  for (const int signal : {SIGUSR1, SIGUSR2, SIGHUP, SIGCONT}) {
    EXPECT_EQ(count_of(program.out(), got(signal)), 1U) << signal;
  }
}

TEST_F(CountedSignals, AWitnessThatIsKilledIsReplaced) {
  Program program(monitor({}, counter("1.5", 5, {SIGUSR1, SIGUSR2})), {.new_session = true});
  ASSERT_TRUE(program.wait_for_output("ready"));
  const auto kill_witness = [&](int signal) {
    for (const pid_t child : program.children()) {
      std::ifstream comm(fmt::format("/proc/{}/comm", child));
      if (std::string name; std::getline(comm, name) && name == "joulescale-wit") {
        ::kill(child, signal);
      }
    }
    std::this_thread::sleep_for(300ms);
  };
  kill_witness(SIGKILL);
  program.signal_group(SIGUSR1);
  kill_witness(SIGSTOP);
  program.signal_group(SIGUSR2);
  EXPECT_EQ(program.wait_status(), 5);
  EXPECT_EQ(count_of(program.out(), got(SIGUSR1)), 1U);
  EXPECT_EQ(count_of(program.out(), got(SIGUSR2)), 1U);
}

TEST_F(CountedSignals, ThatWereIgnoredAtTheStartEndNothing) {
  std::vector<std::string> command = {"sh", "-c", "trap '' HUP INT; exec \"$@\"", "sh"};
  const auto monitored = monitor({"--baseline", "1s"}, {"echo", "started"});
  command.insert(command.end(), monitored.begin(), monitored.end());
  Program program(command, {.new_session = true});
  ASSERT_TRUE(wait_for_file("ranks/0.json", 5s));
  program.signal(SIGHUP);
  program.signal(SIGINT);
  EXPECT_EQ(program.wait_status(), 0);
  EXPECT_EQ(program.out(), "started\n");
}

TEST_F(CountedSignals, SignalsThatAreQueuedKeepTheirNumber) {
  Program program(monitor({}, counter("1", 5, {SIGRTMIN})), {.new_session = true});
  ASSERT_TRUE(program.wait_for_output("ready"));
  for (int i = 0; i < 3; ++i) {
    program.signal(SIGRTMIN);
    program.signal_group(SIGRTMIN);
  }
  EXPECT_EQ(program.wait_status(), 5);
  EXPECT_EQ(count_of(program.out(), got(SIGRTMIN)), 6U);
}

TEST_F(CountedSignals, AloneAndToTheGroupAreTwo) {
  Program program(monitor({}, counter("1.2", 5, {SIGUSR1})), {.new_session = true});
  ASSERT_TRUE(program.wait_for_output("ready"));
  program.signal(SIGUSR1);
  ASSERT_TRUE(program.wait_for_output(got(SIGUSR1)));
  program.signal_group(SIGUSR1);
  EXPECT_EQ(program.wait_status(), 5);
  EXPECT_EQ(count_of(program.out(), got(SIGUSR1)), 2U);
}

TEST_F(CountedSignals, AMonitorThatWasStoppedForwardsNothingTwice) {
  Program program(monitor({}, counter("2.5", 5, {SIGUSR1, SIGUSR2})), {.new_session = true});
  ASSERT_TRUE(program.wait_for_output("ready"));
  program.signal(SIGSTOP);
  program.signal_group(SIGUSR1);
  program.signal(SIGUSR2);
  ASSERT_TRUE(program.wait_for_output(got(SIGUSR1)));
  std::this_thread::sleep_for(kStopped);
  program.signal(SIGCONT);
  EXPECT_EQ(program.wait_status(), 5);
  EXPECT_EQ(count_of(program.out(), got(SIGUSR1)), 1U);
  EXPECT_EQ(count_of(program.out(), got(SIGUSR2)), 1U);
}

TEST_F(CountedSignals, AMonitorUnderAMonitorPassesEachOnOnce) {
  std::vector<std::string> inner = {
      joulescale(), "monitor", "--quiet", "--output", (work_ / "inner").native(), "--"};
  const auto command = counter("1", 6, {SIGUSR1, SIGTERM});
  inner.insert(inner.end(), command.begin(), command.end());
  Program program(monitor({}, inner), {.new_session = true});
  ASSERT_TRUE(program.wait_for_output("ready"));
  program.signal(SIGUSR1);
  program.signal_group(SIGTERM);
  EXPECT_EQ(program.wait_status(), 6);
  EXPECT_EQ(count_of(program.out(), got(SIGUSR1)), 1U);
  EXPECT_EQ(count_of(program.out(), got(SIGTERM)), 1U);
  EXPECT_EQ(record().exit_status, 6);
  EXPECT_EQ(read_run_record(work_ / "inner/run.json")->exit_status, 6);
}

class Termination : public CountedSignals {};

TEST_F(Termination, ACommandThatTidiesUpIsWaitedForAndRecorded) {
  Program program(monitor({}, counter("-0.4", 7, {SIGTERM})), {.new_session = true});
  ASSERT_TRUE(program.wait_for_output("ready"));
  program.signal_group(SIGTERM);
  EXPECT_EQ(program.wait_status(), 7);
  EXPECT_EQ(program.out(), "ready\n" + got(SIGTERM) + "\nend\n");
  EXPECT_EQ(record().exit_status, 7);
}

TEST_F(Termination, ACommandThatIgnoresItIsNotKilledByUs) {
  Program program(monitor({}, {"sh", "-c", "trap '' TERM INT HUP; echo ready; sleep 1; echo end"}),
                  {.new_session = true});
  ASSERT_TRUE(program.wait_for_output("ready"));
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    program.signal(signal);
    program.signal_group(signal);
  }
  EXPECT_EQ(program.wait_status(), 0);
  EXPECT_EQ(program.out(), "ready\nend\n");
}

TEST_F(Termination, AfterASecondBlowTheRunIsFinishedFromTheJournal) {
  Program program(monitor({}, {"sh", "-c", "trap '' TERM; echo ready; sleep 3"}),
                  {.new_session = true});
  ASSERT_TRUE(program.wait_for_output("ready"));
  program.signal_group(SIGTERM);
  std::this_thread::sleep_for(kStopped);
  program.signal_group(SIGKILL);  // the grace period is over
  EXPECT_EQ(program.wait_status(), -SIGKILL);
  Program recover({joulescale(), "recover", run_directory().native()});
  EXPECT_EQ(recover.wait_status(), 0) << recover.err();
  EXPECT_GT(record().duration.value(), 0.1);
}

}  // namespace
}  // namespace joulescale::testing
