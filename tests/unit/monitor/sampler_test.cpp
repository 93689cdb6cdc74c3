// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/sampler.h"

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "joulescale/base/error.h"
#include "joulescale/monitor/source_claims.h"

#include "tests/support/temp_dir.h"

namespace joulescale {
namespace {

/// Read by one of the ranks; whoever has it finds that it cannot be read.
class UnreadableSensor final : public Sensor {
 public:
  std::string_view name() const override { return "unreadable"; }
  Result<void> open() override {
    forget_claims();
    if (may_read("cpu")) {
      return Error(ErrorCode::kUnavailable, "not there");
    }
    return {};
  }
  std::span<const Channel> channels() const override { return {}; }
  std::span<const std::string> notes() const override { return {}; }
  Nanoseconds min_read_period() const override { return std::chrono::milliseconds(100); }
  void read(std::span<RawReading> /*out*/) noexcept override {}
  void close() noexcept override {}
};

TEST(Sampler, NobodyWaitsForASourceThatItsReaderCannotOpen) {
  const testing::TempDir locks;
  constexpr Nanoseconds kPatience = std::chrono::seconds(10);
  const auto rank = [&locks] {
    std::vector<std::unique_ptr<Sensor>> sensors;
    sensors.push_back(std::make_unique<UnreadableSensor>());
    return std::make_unique<Sampler>(
        std::move(sensors),
        std::chrono::milliseconds(100),
        system_clock(),
        std::make_shared<SourceClaims>("launch", "node", locks.path()));
  };
  const auto reader = rank();
  EXPECT_TRUE(reader->wait_ready(system_clock().monotonic_now() + kPatience));
  const auto other = rank();
  EXPECT_TRUE(other->wait_ready(system_clock().monotonic_now() + kPatience));
}

}  // namespace
}  // namespace joulescale
