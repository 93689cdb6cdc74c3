// SPDX-License-Identifier: Apache-2.0
// No room, no rights, no descriptors, no memory, no threads: the command's status is its own, or it
// is not started and one line says why.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/integration/monitor/monitor_harness.h"
#include "tests/support/powercap_tree.h"

namespace joulescale::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

namespace fs = std::filesystem;

constexpr const char* kNobody = "65534";

class Limits : public MonitorTest {
 protected:
  /// "bash -c '<script>; exec "$@"' ... <arguments>".
  static std::vector<std::string> after(const std::string& script,
                                        const std::vector<std::string>& arguments) {
    std::vector<std::string> line = {"bash", "-c", script + "; exec \"$@\"", "bash"};
    line.insert(line.end(), arguments.begin(), arguments.end());
    return line;
  }
  /// As a user whom file modes bind: this one, or nobody in root's place.
  std::vector<std::string> as_user(const std::vector<std::string>& arguments) const {
    if (::geteuid() != 0) {
      return arguments;
    }
    EXPECT_EQ(::chown(work_.path().c_str(), 65534, 65534), 0);
    std::vector<std::string> line = {"setpriv",
                                     std::string("--reuid=") + kNobody,
                                     std::string("--regid=") + kNobody,
                                     "--clear-groups",
                                     "--no-new-privs"};
    line.insert(line.end(), arguments.begin(), arguments.end());
    return line;
  }
  std::vector<std::string> loud_monitor(const std::vector<std::string>& command) const {
    auto arguments = monitor({}, command);
    std::erase(arguments, "--quiet");
    return arguments;
  }
  /// Either the command ran and its status came back, or it did not start and one line says why.
  void expect_own_status_or_not_started(const std::vector<std::string>& arguments,
                                        const std::string& what) const {
    fs::remove_all(run_directory());
    Program program(arguments);
    const int status = program.wait_status();
    if (program.out() == "started\n") {
      EXPECT_EQ(status, 5) << what << ": " << program.err();
    } else {
      EXPECT_EQ(program.out(), "") << what;
      EXPECT_GT(status, 0) << what << ": " << program.err();
      EXPECT_NE(status, 5) << what << ": " << program.err();
      EXPECT_NE(program.err(), "") << what;
    }
  }
  static std::vector<std::string> started() { return {"sh", "-c", "echo started; exit 5"}; }
};

TEST_F(Limits, ADirectoryThatBecomesUnwritableChangesNoStatusAndIsRecoveredLater) {
  const std::string all = "find '" + run_directory().native() + "' -type d -exec chmod ";
  Program program(as_user(loud_monitor({"sh", "-c", all + "a-w {} +; sleep 1.3; exit 4"})));
  EXPECT_EQ(program.wait_status(), 4);
  EXPECT_THAT(program.err(), HasSubstr("record could not be written"));
  EXPECT_THAT(program.err(), HasSubstr("CPU rank")) << "the summary is printed nevertheless";
  EXPECT_FALSE(fs::exists(run_directory() / "run.json"));
  ASSERT_EQ(std::system((all + "u+w {} +").c_str()), 0);
  Program recover({joulescale(), "recover", run_directory().native()});
  EXPECT_EQ(recover.wait_status(), 0) << recover.err();
  const RunRecord run = record();
  EXPECT_EQ(run.exit_status, 4) << "the journal's last entry tells it";
  EXPECT_GE(run.duration.value(), 1.2);
}

TEST_F(Limits, AReadOnlyPlaceIsRefusedBeforeTheStart) {
  ASSERT_EQ(::chmod(work_.path().c_str(), 0500), 0);
  Program program(as_user(loud_monitor(started())));
  EXPECT_EQ(program.wait_status(), 2);
  EXPECT_EQ(program.out(), "");
  EXPECT_THAT(program.err(), HasSubstr("Permission denied"));
  ::chmod(work_.path().c_str(), 0700);
}

/// A file system of 256 KiB below the run directory's parent, seen by the program alone.
class FullDisk : public Limits {
 protected:
  void SetUp() override {
    if (std::system("unshare -m mount -t tmpfs tmpfs /mnt >/dev/null 2>&1") != 0) {
      GTEST_SKIP() << "Skipped: mounting a file system needs root";
    }
    fs::create_directories(work_ / "small");
    fs::create_directories(work_ / "kept");
    // Enough channels that the journal needs another page every second.
    for (int package = 0; package < 60; ++package) {
      tree_.add_zone(fmt::format("intel-rapl:{}", package),
                     fmt::format("package-{}", package),
                     static_cast<std::uint64_t>(package));
    }
  }
  /// The monitor on the small file system; what is left there is kept.
  std::vector<std::string> on_small_disk(const std::string& before,
                                         const std::string& command) const {
    const std::string small = (work_ / "small").native();
    return {"unshare",
            "-m",
            "sh",
            "-c",
            fmt::format("mount -t tmpfs -o size=256k tmpfs '{0}' && {1}; '{2}' monitor --rate 100 "
                        "--root {4} --output "
                        "'{0}/run' -- sh -c \"$0\"; status=$?; cp -r '{0}/run' '{3}'; exit $status",
                        small,
                        before,
                        joulescale(),
                        (work_ / "kept").native(),
                        tree_.root().native()),
            fmt::format("cd '{}'; {}", small, command)};
  }

  PowercapTree tree_;
};

constexpr const char* kFill = "dd if=/dev/zero of=fill bs=4k 2>/dev/null";

TEST_F(FullDisk, InTheMiddleIsSaidAndChangesNoStatus) {
  Program program(
      on_small_disk("true", std::string("sleep 0.3; ") + kFill + "; sleep 2.2; exit 4"));
  EXPECT_EQ(program.wait_status(), 4) << program.err();
  EXPECT_THAT(program.err(), HasSubstr("No space left"));
  EXPECT_THAT(program.err(), HasSubstr("disk_full"));
  EXPECT_THAT(program.err(), HasSubstr("CPU rank"));
}

TEST_F(FullDisk, ThatIsFreedAgainLeavesAFlaggedRecord) {
  Program program(
      on_small_disk("true", std::string("sleep 0.3; ") + kFill + "; sleep 2.2; rm fill; exit 4"));
  EXPECT_EQ(program.wait_status(), 4) << program.err();
  const auto run = read_run_record(work_ / "kept/run/run.json");
  ASSERT_TRUE(run.ok()) << run.error().text();
  EXPECT_THAT(run->flags, Contains("disk_full"));
  EXPECT_EQ(run->exit_status, 4);
  EXPECT_GE(run->duration.value(), 2.4) << "what the monitor knows is not lost with the journal";
}

TEST_F(FullDisk, FromTheBeginningIsOneLineAndStatus2) {
  const std::string fill = fmt::format("(cd '{}'; {})", (work_ / "small").native(), kFill);
  Program program(on_small_disk(fill, "echo started; exit 5"));
  EXPECT_EQ(program.wait_status(), 2) << program.err();
  EXPECT_EQ(program.out(), "");
  EXPECT_THAT(program.err(), HasSubstr("No space left"));
}

TEST_F(Limits, FewDescriptors) {
  for (const int descriptors : {3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 20}) {
    expect_own_status_or_not_started(
        after(fmt::format("ulimit -n {}", descriptors), monitor({}, started())),
        fmt::format("{} descriptors", descriptors));
  }
  fs::remove_all(run_directory());
  Program program(after("ulimit -n 16", monitor({}, started())));
  EXPECT_EQ(program.wait_status(), 5) << program.err();
  EXPECT_EQ(record().exit_status, 5);
}

TEST_F(Limits, LittleMemory) {
  int tried = 0;
  for (int kib = 10'000; kib <= 100'000; kib += kib / 12) {
    const std::string limit = fmt::format("ulimit -v {}", kib);
    Program loads(after(limit, {joulescale(), "--version"}));
    if (loads.wait_status() != 0) {
      continue;  // loader and language runtime themselves find no room
    }
    ++tried;
    expect_own_status_or_not_started(after(limit, monitor({}, started())),
                                     fmt::format("{} KiB", kib));
  }
  EXPECT_GT(tried, 10);
}

TEST_F(Limits, FewProcessesAndThreads) {
  for (const int processes : {0, 1, 2, 3, 4, 5, 6, 8, 12}) {
    expect_own_status_or_not_started(
        as_user(after(fmt::format("ulimit -u {}", processes), monitor({}, started()))),
        fmt::format("{} processes", processes));
  }
}

}  // namespace
}  // namespace joulescale::testing
