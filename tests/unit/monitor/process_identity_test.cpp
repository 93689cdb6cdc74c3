// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/process_identity.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace joulescale {
namespace {

TEST(ProcessIdentity, ThisProcessRuns) { EXPECT_EQ(liveness_of(own_process()), Liveness::kRuns); }

TEST(ProcessIdentity, ANumberThatWasGivenToAnotherProcessHasEnded) {
  ProcessIdentity former = own_process();
  former.start_ticks -= 1;
  EXPECT_EQ(liveness_of(former), Liveness::kEnded);
}

TEST(ProcessIdentity, OneOfAnotherNamespaceIsUnknown) {
  ProcessIdentity elsewhere = own_process();
  elsewhere.pid_namespace = "pid:[1]";
  EXPECT_EQ(liveness_of(elsewhere), Liveness::kUnknown);
  EXPECT_EQ(liveness_of(ProcessIdentity{::getpid(), "", 0}), Liveness::kUnknown);
}

TEST(ProcessIdentity, OneThatWasKilledHasEndedBeforeItsParentTakesNotice) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const ProcessIdentity own = own_process();
    if (::write(ready[1], &own.start_ticks, sizeof own.start_ticks) > 0) {
      ::pause();  // until it is killed
    }
    ::_exit(1);
  }
  ProcessIdentity process = own_process();
  process.pid = child;
  ASSERT_EQ(::read(ready[0], &process.start_ticks, sizeof process.start_ticks),
            static_cast<ssize_t>(sizeof process.start_ticks));
  EXPECT_EQ(liveness_of(process), Liveness::kRuns);
  ::kill(child, SIGKILL);
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(liveness_of(process), Liveness::kEnded);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(liveness_of(process), Liveness::kEnded);
  ::close(ready[0]);
  ::close(ready[1]);
}

}  // namespace
}  // namespace joulescale
