// SPDX-License-Identifier: Apache-2.0
// Parameter counts and names of the networks, and the probe against golden values. Free of torch.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include <gmock/gmock.h>

#include "joulescale/models/catalogue.h"
#include "joulescale/models/probe.h"

namespace joulescale {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

std::int64_t count_parameters(const std::string& name, int classes, int channels = 3) {
  std::int64_t count = 0;
  for (const auto& parameter :
       model_parameters({.name = name, .in_channels = channels, .num_classes = classes}).value()) {
    count += parameter.count;
  }
  return count;
}

/// torchvision's figures for 1000 classes (its documentation, "num_params").
TEST(Models, ImagenetResnetsHaveThePublishedCounts) {
  EXPECT_EQ(count_parameters("resnet18", 1000), 11'689'512);
  EXPECT_EQ(count_parameters("resnet34", 1000), 21'797'672);
  EXPECT_EQ(count_parameters("resnet50", 1000), 25'557'032);
  EXPECT_EQ(count_parameters("resnet101", 1000), 44'549'160);
  EXPECT_EQ(count_parameters("resnet152", 1000), 60'192'808);
}

/// He et al. 2015, table 6 states 0.27, 0.46, 0.66, 0.85 and 1.7 million.
TEST(Models, CifarResnetsHaveThePublishedCounts) {
  EXPECT_EQ(count_parameters("resnet20", 10), 269'722);
  EXPECT_EQ(count_parameters("resnet32", 10), 464'154);
  EXPECT_EQ(count_parameters("resnet44", 10), 658'586);
  EXPECT_EQ(count_parameters("resnet56", 10), 853'018);
  EXPECT_EQ(count_parameters("resnet110", 10), 1'727'962);
  EXPECT_EQ(count_parameters("resnet8", 10), 75'290);
  EXPECT_EQ(count_parameters("resnet8", 10, 1), 75'290 - 2 * 9 * 16);
}

TEST(Models, Resnet50HasTorchvisionsStateDict) {
  const auto names = model_state_names({.name = "resnet50", .num_classes = 1000}).value();
  EXPECT_EQ(names.size(), 320U);
  for (const auto* name : {"conv1.weight",
                           "bn1.running_mean",
                           "layer1.0.downsample.0.weight",
                           "layer1.0.downsample.1.num_batches_tracked",
                           "layer3.5.conv3.weight",
                           "layer4.2.bn3.bias",
                           "fc.bias"}) {
    EXPECT_THAT(names, Contains(name));
  }
  EXPECT_THAT(names, Not(Contains("layer1.1.downsample.0.weight")));
  EXPECT_EQ(model_parameters({.name = "resnet50", .num_classes = 1000}).value().size(), 161U);
}

TEST(Models, ShortcutsOfCifarResnetsHaveNoParameters) {
  const auto names = model_state_names({.name = "resnet8"}).value();
  EXPECT_TRUE(std::ranges::none_of(
      names, [](const std::string& name) { return name.find("downsample") != std::string::npos; }));
  EXPECT_THAT(names, Contains("layer3.0.conv2.weight"));
}

TEST(Models, UnknownNameGetsTheNearestOne) {
  const auto checked = check_model("resnet-50");
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(exit_status_of(checked.error()), 2);
  EXPECT_THAT(checked.error().text(), HasSubstr("did you mean resnet50?"));
}

constexpr double kGoldenTolerance = 1e-5;  // relative; the golden values have 7 digits

void expect_near(double value, double golden) {
  EXPECT_NEAR(value, golden, kGoldenTolerance * std::abs(golden));
}

/// torchvision's ResNet-18 run by PyTorch 2.11.0 on a CPU in float32.
TEST(Probe, Resnet18GivesTheGoldenValues) {
  const auto probe = probe_network({.model = {.name = "resnet18", .num_classes = 10},
                                    .batch_size = 4,
                                    .image_height = 64,
                                    .image_width = 64})
                         .value();
  EXPECT_EQ(probe.parameters, 11'181'642);
  expect_near(probe.output_sum, -16.06526);
  expect_near(probe.output_abs_sum, 71.45533);
  const std::vector<double> first = {1.027659, -1.512156, -2.869315, -1.913243};
  ASSERT_EQ(probe.output_first.size(), first.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    expect_near(probe.output_first[i], first[i]);
  }
  expect_near(probe.loss, 4.753789);
  std::map<std::string, double> norms;
  for (const auto& [name, norm] : probe.grad_norms) {
    norms[name] = norm.value();
  }
  expect_near(norms["conv1.weight"], 1.722989);
  expect_near(norms["bn1.weight"], 0.06085545);
  expect_near(norms["layer1.0.conv1.weight"], 1.172929);
  expect_near(norms["layer2.0.downsample.0.weight"], 3.036257);
  expect_near(norms["layer4.1.conv2.weight"], 4.448965);
  expect_near(norms["fc.weight"], 9.336896);
  expect_near(norms["fc.bias"], 0.7236947);
}

TEST(Probe, RunsEveryNetwork) {
  for (const auto name : model_names()) {
    if (name == "resnet101" || name == "resnet152" || name == "resnet110") {
      continue;  // the same code as their smaller siblings, and slow
    }
    const auto probe = probe_network({.model = {.name = std::string(name), .num_classes = 7},
                                      .batch_size = 2,
                                      .image_height = 32,
                                      .image_width = 40});
    ASSERT_TRUE(probe.ok()) << name << ": " << probe.error().text();
    EXPECT_TRUE(std::isfinite(probe->loss)) << name;
    EXPECT_TRUE(std::ranges::all_of(probe->grad_norms, [](const auto& norm) {
      return norm.second.has_value();
    })) << name;
  }
}

}  // namespace
}  // namespace joulescale
