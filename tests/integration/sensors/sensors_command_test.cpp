// SPDX-License-Identifier: Apache-2.0
// joulescale sensors against fake machines: every state of every source, and how to mend it.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/fake_nvml_dir.h"
#include "tests/support/powercap_tree.h"
#include "tests/support/program.h"

namespace joulescale::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr const char* kUuid = "GPU-d1c7b8a4-1234-5678-9abc-def012345678";

fs::path joulescale() { return fs::path(JOULESCALE_BIN_DIR) / "joulescale"; }

nlohmann::json sensors_json(const std::vector<std::string>& options,
                            std::vector<std::string> prefix = {},
                            const fs::path& program = joulescale()) {
  prefix.insert(prefix.end(), {program.native(), "sensors", "--format", "json"});
  prefix.insert(prefix.end(), options.begin(), options.end());
  Program run(prefix);
  EXPECT_EQ(run.wait_status(), 0);
  EXPECT_EQ(run.err(), "");
  auto json = nlohmann::json::parse(run.out(), nullptr, false);
  EXPECT_FALSE(json.is_discarded()) << run.out();
  return json;
}

nlohmann::json source_of(const nlohmann::json& json, const std::string& name) {
  for (const auto& source : json["sources"]) {
    if (source["name"] == name) {
      return source;
    }
  }
  ADD_FAILURE() << name << " is not listed";
  return {};
}

/// Why a source is not available, with the options given.
std::string reason(const std::string& name, const std::vector<std::string>& options) {
  const auto source = source_of(sensors_json(options), name);
  EXPECT_FALSE(source["available"].get<bool>());
  EXPECT_TRUE(source["channels"].empty());
  return source.value("reason", "");
}

class SensorsCommand : public ::testing::Test {
 protected:
  std::vector<std::string> with_root(const std::string& library = "/dev/null") const {
    return {"--root", tree_.root().native(), "--nvml-library", library};
  }
  std::string nvml_reason(const std::string& scenario) const {
    const FakeNvmlDir fake(JOULESCALE_FAKE_NVML_DIR, scenario);
    return reason("nvml", with_root(fake.library().native()));
  }

  PowercapTree tree_;
};

TEST_F(SensorsCommand, JsonTellsAllOfEachChannel) {
  tree_.add_zone("intel-rapl:0", "package-0", 0);
  tree_.add_zone("intel-rapl:0:0", "core", 0);
  tree_.add_zone("intel-rapl:0:1", "dram", 0);
  tree_.set_proc_stat(2, 10);
  tree_.set_memory_kib(1 << 20);
  const FakeNvmlDir fake(JOULESCALE_FAKE_NVML_DIR,
                         fmt::format("gpu {} NVIDIA Fake\nupdate_ms 20\npower 0:100\n", kUuid));
  const auto json = sensors_json(with_root(fake.library().native()));
  EXPECT_EQ(json["schema"], "joulescale.sensors/1");
  for (const char* name : {"powercap", "nvml", "estimate"}) {
    const auto source = source_of(json, name);
    EXPECT_TRUE(source["available"].get<bool>()) << name;
    EXPECT_FALSE(source.contains("reason"));
    for (const auto& channel : source["channels"]) {
      for (const char* key : {"name",
                              "domain",
                              "quantity",
                              "unit",
                              "provenance",
                              "overlap_group",
                              "counted",
                              "instrument_accuracy"}) {
        EXPECT_TRUE(channel.contains(key)) << name << ' ' << key;
      }
    }
  }
  const auto counter = source_of(json, "nvml")["channels"][0];
  EXPECT_EQ(counter["name"], fmt::format("nvml/{}/energy", kUuid));
  EXPECT_EQ(counter["overlap_group"], kUuid);
  EXPECT_EQ(counter["unit"], "mJ");
  // The fake's 20 ms; a busy machine may miss moves.
  EXPECT_GE(counter["update_period_s"].get<double>(), 0.01);
  EXPECT_LT(counter["update_period_s"].get<double>(), 0.5);
  const auto core = source_of(json, "powercap")["channels"][1];
  EXPECT_EQ(core["domain"], "cpu_core");
  EXPECT_FALSE(core["counted"].get<bool>());
  EXPECT_FALSE(core.contains("update_period_s"));  // it never moved
  EXPECT_THAT(source_of(json, "powercap")["notes"].dump(),
              HasSubstr("package-0/core hardly moved"));
}

TEST_F(SensorsCommand, TheTableFitsEightyColumns) {
  tree_.add_zone("intel-rapl:0", "package-0", 0);
  tree_.add_zone("intel-rapl:0:1", "dram", 0);
  tree_.set_proc_stat(2, 10);
  tree_.set_memory_kib(1 << 20);
  const FakeNvmlDir fake(JOULESCALE_FAKE_NVML_DIR,
                         fmt::format("gpu {} NVIDIA Fake\nupdate_ms 20\npower 0:100\n", kUuid));
  Program table({joulescale().native(),
                 "sensors",
                 "--root",
                 tree_.root().native(),
                 "--nvml-library",
                 fake.library().native()});
  EXPECT_EQ(table.wait_status(), 0);
  const std::string text = table.out();
  EXPECT_THAT(text, HasSubstr("powercap: available"));
  EXPECT_THAT(text, HasSubstr(kUuid));
  EXPECT_THAT(text, HasSubstr("integrated"));
  EXPECT_THAT(text, HasSubstr("amdsmi: not available\n    not built in this version"));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 80U) << line;
  }
}

TEST_F(SensorsCommand, PowercapForRootOnlyNamesEveryWayToMendIt) {
  tree_.add_zone("intel-rapl:0", "package-0", 0);
  const fs::path energy = tree_.zone("intel-rapl:0") / "energy_uj";
  ::chmod(energy.c_str(), ::geteuid() == 0 ? 0400 : 0);
  ::chmod(tree_.root().c_str(), 0755);
  // Root reads everything: then as nobody, with a copy of the program that nobody can reach.
  const TempDir reachable;
  ::chmod(reachable.path().c_str(), 0755);
  fs::copy_file(joulescale(), reachable / "joulescale");
  std::vector<std::string> as_nobody;
  if (::geteuid() == 0) {
    as_nobody = {"setpriv", "--reuid=65534", "--clear-groups"};
  }
  const auto json = sensors_json(with_root(), as_nobody, reachable / "joulescale");
  const std::string text = source_of(json, "powercap").value("reason", "");
  EXPECT_THAT(text, HasSubstr("permission denied"));
  EXPECT_THAT(text, HasSubstr("chmod a+r"));
  EXPECT_THAT(text, HasSubstr("/etc/udev/rules.d/"));
  EXPECT_THAT(text,
              HasSubstr("setcap cap_dac_read_search+ep " + (reachable / "joulescale").native()));
  EXPECT_THAT(text, HasSubstr("sysctl kernel.perf_event_paranoid=0"));
}

TEST_F(SensorsCommand, NoZonesAndMaskedZonesDiffer) {
  EXPECT_THAT(reason("powercap", with_root()), HasSubstr("modprobe intel_rapl_msr"));
  fs::create_directories(tree_.root() / "sys/devices/virtual/powercap");
  EXPECT_THAT(reason("powercap", with_root()), HasSubstr("systempaths=unconfined"));
}

TEST_F(SensorsCommand, PerfIsOfThisMachineOnly) {
  EXPECT_THAT(reason("perf", with_root()), HasSubstr("leave out --root"));
  // Without --root the answer is this machine's: channels, or a reason.
  const auto here = source_of(sensors_json({"--nvml-library", "/dev/null"}), "perf");
  EXPECT_EQ(here["available"].get<bool>(), !here["channels"].empty());
  EXPECT_EQ(here["available"].get<bool>(), !here.contains("reason"));
}

TEST_F(SensorsCommand, EachStateOfNvmlNamesItsRemedy) {
  EXPECT_THAT(reason("nvml", with_root()), HasSubstr("install the NVIDIA driver"));
  EXPECT_THAT(nvml_reason("init 9\n"), HasSubstr("modprobe nvidia"));
  EXPECT_THAT(nvml_reason("init 4\n"), HasSubstr("chmod a+rw /dev/nvidia*"));
  EXPECT_THAT(nvml_reason("init 18\n"), HasSubstr("modprobe -r nvidia_uvm"));
  EXPECT_THAT(nvml_reason("init 999\n"), HasSubstr("code 999"));
  EXPECT_THAT(nvml_reason("driver 580\n"), HasSubstr("lists no GPU"));
  EXPECT_THAT(nvml_reason("gpu GPU-1 A\npower 0:1\nenergy_codes 3x*\npower_codes 3x*\n"),
              HasSubstr("GPU-1 gives no total energy"));
}

TEST_F(SensorsCommand, AHangingDriverDoesNotHangTheCommand) {
  tree_.add_zone("intel-rapl:0", "package-0", 0);
  const FakeNvmlDir fake(JOULESCALE_FAKE_NVML_DIR, "init_ms 3600000\ngpu GPU-1 A\npower 0:1\n");
  const auto json = sensors_json(with_root(fake.library().native()));
  EXPECT_TRUE(source_of(json, "powercap")["available"].get<bool>());
  const auto nvml = source_of(json, "nvml");
  EXPECT_FALSE(nvml["available"].get<bool>());
  EXPECT_THAT(nvml.value("reason", ""), HasSubstr("did not answer within 5 s"));
}

}  // namespace
}  // namespace joulescale::testing
