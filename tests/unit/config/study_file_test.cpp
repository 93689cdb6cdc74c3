// SPDX-License-Identifier: Apache-2.0
#include "joulescale/config/study_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "joulescale/base/file.h"

#include "tests/support/temp_dir.h"

namespace joulescale {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::TempDir;

// Line numbers matter: the tests below replace one line and expect it in the message.
constexpr const char* kStudy = R"(schema = "joulescale.study/1"
name = "demo"
repetitions = 2
seed = 5
[workload]
kind = "train"
[workload.options]
model = "resnet8"
train-samples = 2000
learning-rate = 0.1
flip = true
crop = false
[monitor]
rate = 10
[[series]]
name = "constant-lbs"
devices = [1, 2]
local_batch_size = 64
[[series]]
name = "constant-gbs"
devices = [1, 2]
global_batch_size = [128, 256]
)";

/// kStudy with one line replaced.
std::string study_with(int line, const std::string& replacement) {
  std::string text = kStudy;
  std::size_t begin = 0;
  for (int i = 1; i < line; ++i) {
    begin = text.find('\n', begin) + 1;
  }
  return text.replace(begin, text.find('\n', begin) - begin, replacement);
}

std::string error_of(const std::string& text) {
  const auto spec = parse_study(text, "s.toml");
  return spec ? "no error" : spec.error().text();
}

TEST(StudyFile, KeysOfManyPartsAreRefusedBeforeTheyAreParsed) {
  std::string text = "name = \"demo\"\na";
  for (int i = 0; i < 100'000; ++i) {
    text += ".a";
  }
  const auto study = parse_study(text + " = 1\n", "f.toml");
  ASSERT_FALSE(study.ok());
  EXPECT_TRUE(study.error().text().starts_with("f.toml:2: ")) << study.error().text();
}

TEST(StudyFile, ReadsEveryKey) {
  const auto spec = parse_study(kStudy, "s.toml");
  ASSERT_TRUE(spec) << spec.error().text();
  EXPECT_EQ(spec->name, "demo");
  EXPECT_EQ(spec->repetitions, 2);
  EXPECT_EQ(spec->seed, 5);
  EXPECT_EQ(spec->retries, 1);
  EXPECT_EQ(spec->monitor.rate_hz, 10.0);
  EXPECT_EQ(parse_study(study_with(14, "baseline = \"10s\""), "s.toml")->monitor.baseline, "10s");
  ASSERT_EQ(spec->workload.options.size(), 4U);
  EXPECT_EQ(spec->workload.options[1].name, "train-samples");
  EXPECT_EQ(spec->workload.options[1].value, "2000");
  EXPECT_EQ(spec->workload.options[1].line, 9);
  EXPECT_EQ(spec->workload.options[2].value, "0.1");
  EXPECT_EQ(spec->workload.options[3].name, "flip");
  EXPECT_FALSE(spec->workload.options[3].value);
  ASSERT_EQ(spec->series.size(), 2U);
  const std::vector<Configuration> expected = {{1, 128, 1}, {2, 64, 1}, {1, 256, 1}, {2, 128, 1}};
  EXPECT_EQ(spec->series[1].configurations, expected);
}

struct Mistake {
  int line;
  const char* text;
  const char* message;
};

class StudyFileMistakes : public ::testing::TestWithParam<Mistake> {};

TEST_P(StudyFileMistakes, NameFileLineKeyAndWhatIsAllowed) {
  const Mistake& mistake = GetParam();
  const std::string error = error_of(study_with(mistake.line, mistake.text));
  EXPECT_EQ(error, "s.toml:" + std::to_string(mistake.line) + ": " + mistake.message);
}

INSTANTIATE_TEST_SUITE_P(
    All,
    StudyFileMistakes,
    ::testing::Values(
        Mistake{1,
                "schema = \"joulescale.study/2\"",
                "schema: 'joulescale.study/2' is unknown; allowed: joulescale.study/1"},
        Mistake{1, "schema = 1", "schema: 1 is not a text; allowed: a text in quotes"},
        Mistake{2, "nme = \"demo\"", "nme: unknown key; did you mean 'name'?"},
        Mistake{2,
                "name = \"\"",
                "name: '' is not allowed; allowed: 1 to 200 bytes without control characters"},
        Mistake{2,
                "name = \"a\\nb\"",
                "name: 'a b' is not allowed; allowed: 1 to 200 bytes without control characters"},
        Mistake{3,
                "repetitions = 0",
                "repetitions: 0 is not allowed; allowed: a whole number from 1 to 1000"},
        Mistake{3,
                "repetitions = 1.5",
                "repetitions: 1.5 is not allowed; allowed: a whole number from 1 to 1000"},
        Mistake{3,
                "repetitions = \"2\"",
                "repetitions: the text '2' is not allowed; allowed: a whole number from 1 to 1000"},
        Mistake{4,
                "seed = -1",
                "seed: -1 is not allowed; allowed: a whole number from 0 to 2000000000"},
        Mistake{4,
                "seed = 99999999999999999999",
                "not TOML: Error while parsing decimal integer: "
                "'99999999999999999999' is not representable in "
                "64 bits"},
        Mistake{
            6, "kind = \"trian\"", "workload.kind: 'trian' is unknown; allowed: train, command"},
        Mistake{8,
                "local-batch-size = 64",
                "workload.options.local-batch-size: the sweep sets this option itself; use "
                "devices, local_batch_size, global_batch_size and accumulation_steps of a series, "
                "and seed"},
        Mistake{8,
                "--model = \"resnet8\"",
                "workload.options.--model: not the name of an option; allowed: an option of "
                "joulescale-train without its dashes"},
        Mistake{9,
                "train-samples = [1]",
                "workload.options.train-samples: allowed: a text that is not empty, a finite "
                "number, true (give it) "
                "or false (do not)"},
        Mistake{10,
                "learning-rate = nan",
                "workload.options.learning-rate: allowed: a text that is not empty, a finite "
                "number, true (give it) "
                "or false (do not)"},
        Mistake{14,
                "rate = -inf",
                "monitor.rate: -inf is not allowed; allowed: a number from 1 to 100"},
        Mistake{14,
                "rate = true",
                "monitor.rate: true is not allowed; allowed: a number from 1 to 100"},
        Mistake{14,
                "baseline = \"10\"",
                "monitor.baseline: '10' is not allowed; allowed: 1s to 1h, as in 10s, 1500ms or "
                "2min"},
        Mistake{14, "rte = 10", "monitor.rte: unknown key; did you mean 'rate'?"},
        Mistake{14,
                "zzzzzzzzzz = 10",
                "monitor.zzzzzzzzzz: unknown key; allowed: rate, baseline, root, nvml_library, "
                "cpu_thread_watts, ram_watts"},
        Mistake{17,
                "devices = []",
                "series.devices: the list is empty; allowed: at least one whole number"},
        Mistake{17,
                "devices = [1, 0]",
                "series.devices: 0 is not allowed; allowed: a whole number from 1 to 1000000"},
        Mistake{17, "devices = [1, 1]", "series.devices: 1 is there twice"},
        Mistake{17,
                "devices = [[1]]",
                "series.devices: a list is not allowed; allowed: a whole number from 1 to "
                "1000000"},
        Mistake{18,
                "local_batch_size = -64",
                "series.local_batch_size: -64 is not allowed; allowed: a whole number from 1 to "
                "1000000000"},
        Mistake{18,
                "local_batch_size = 1000000000",
                "series.local_batch_size: 1000000000 on 2 devices with 1 accumulation steps is a "
                "global batch size above 1000000000"},
        Mistake{20,
                "name = \"constant-lbs\"",
                "series.name: 'constant-lbs' is there twice; allowed: each name once"},
        Mistake{22,
                "global_batch_size = 129",
                "series.global_batch_size: 129 is not divisible by 2 devices x 1 accumulation "
                "steps"},
        Mistake{22,
                "global_batch_size = [",
                "not TOML: Error while parsing array: encountered "
                "end-of-file"}));

TEST(StudyFile, MissingPartsAreNamedWithTheLineOfTheirTable) {
  EXPECT_EQ(error_of(""), "s.toml:1: schema: missing; write schema = \"joulescale.study/1\"");
  EXPECT_EQ(error_of(study_with(17, "")),
            "s.toml:15: series.devices: missing; allowed: a whole number or a list, such as [1, 2, "
            "4]");
  EXPECT_EQ(error_of(study_with(18, "")),
            "s.toml:15: series.local_batch_size: give exactly one of local_batch_size and "
            "global_batch_size");
  EXPECT_THAT(error_of("schema = \"joulescale.study/1\"\nname = \"x\"\n[workload]\n"),
              HasSubstr("series: missing or not a list of tables"));
  EXPECT_THAT(error_of("schema = \"joulescale.study/1\"\nname = \"x\"\n"),
              HasSubstr("workload: missing"));
}

TEST(StudyFile, AStudyOfTooManyRunsIsRefused) {
  std::string devices = "devices = [1";
  for (int i = 2; i <= 600; ++i) {
    devices += ", " + std::to_string(i);
  }
  std::string text = study_with(17, devices + "]");
  text.replace(text.find("repetitions = 2"), 15, "repetitions = 20");
  EXPECT_THAT(error_of(text), HasSubstr("the study has 12060 runs; allowed: at most 10000"));
}

TEST(StudyFile, CommandsHaveArgumentsWithKnownPlaceholders) {
  const std::string head =
      "schema = \"joulescale.study/1\"\nname = \"x\"\n[workload]\n"
      "kind = \"command\"\n";
  const std::string tail = "[[series]]\nname = \"s\"\ndevices = 1\nlocal_batch_size = 1\n";
  const auto spec = parse_study(
      head + "argv = [\"sh\", \"-c\", \"awk '{ print }' {devices}\"]\n" + tail, "s.toml");
  ASSERT_TRUE(spec) << spec.error().text();
  EXPECT_EQ(spec->workload.argv[2], "awk '{ print }' {devices}");
  EXPECT_THAT(error_of(head + tail), StartsWith("s.toml:3: workload.argv: missing"));
  EXPECT_THAT(error_of(head + "argv = [\"{devcies}\"]\n" + tail),
              StartsWith("s.toml:5: workload.argv: unknown placeholder '{devcies}'; allowed: "));
  EXPECT_THAT(error_of(head + "argv = [\"{samples}\"]\n" + tail),
              HasSubstr("needs the key workload.samples"));
  EXPECT_THAT(error_of(head + "argv = [\"a\", 1]\n" + tail), HasSubstr("1 is not allowed"));
}

TEST(StudyFile, InputThatIsNoTextIsOneLine) {
  for (const std::string& text : {std::string("\xFF\xFE\x00", 3),
                                  std::string("a = \"\xC3\"\n"),
                                  std::string(3000, '['),
                                  std::string("\0\0", 2),
                                  std::string("name = \"line\nbreak\"")}) {
    const std::string error = error_of(text);
    EXPECT_THAT(error, StartsWith("s.toml:1: "));
    EXPECT_EQ(error.find('\n'), std::string::npos);
  }
}

TEST(StudyFile, FilesThatCannotBeReadAreConfigurationErrors) {
  const TempDir dir;
  const auto directory = read_study(dir.path());
  EXPECT_EQ(exit_status_of(directory.error()), 2);
  EXPECT_THAT(directory.error().text(), HasSubstr("directory"));
  EXPECT_EQ(exit_status_of(read_study(dir / "absent.toml").error()), 2);
}

TEST(StudyFile, TheEffectiveConfigurationShowsDefaults) {
  const std::string json = format_study_spec(*parse_study(kStudy, "s.toml"));
  EXPECT_THAT(json, HasSubstr("\"retries\": 1"));
  EXPECT_THAT(json, HasSubstr("\"learning-rate\": \"0.1\""));
  EXPECT_THAT(json, HasSubstr("\"global_batch_size\": 128"));
}

}  // namespace
}  // namespace joulescale
