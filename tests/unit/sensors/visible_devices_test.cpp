// SPDX-License-Identifier: Apache-2.0
// The exact semantics of CUDA_VISIBLE_DEVICES, as a table.
#include "joulescale/sensors/nvml/visible_devices.h"

#include <gtest/gtest.h>

namespace joulescale {
namespace {

using Indices = std::vector<std::size_t>;

const std::vector<GpuIdentity> kGpus = {
    {"GPU-aaaa1111-0000", {}},
    {"GPU-aaaa2222-0000", {"MIG-5555", "MIG-5566"}},
    {"GPU-bbbb0000-0000", {}},
};

struct Case {
  std::optional<std::string> value;
  Indices expected;
  bool has_note;
};

class VisibleGpusTable : public ::testing::TestWithParam<Case> {};

TEST_P(VisibleGpusTable, SelectsAsCudaDoes) {
  const VisibleGpus visible = select_visible_gpus(GetParam().value, kGpus);
  EXPECT_EQ(visible.indices, GetParam().expected) << GetParam().value.value_or("(unset)");
  EXPECT_EQ(!visible.note.empty(), GetParam().has_note) << visible.note;
}

INSTANTIATE_TEST_SUITE_P(
    CudaVisibleDevices,
    VisibleGpusTable,
    ::testing::Values(Case{std::nullopt, {0, 1, 2}, false},  // unset: all
                      Case{"", {}, false},                   // empty: none
                      Case{"1", {1}, false},
                      Case{"2,0", {2, 0}, false},
                      Case{" 2 , 0 ", {2, 0}, false},
                      Case{"0,0", {}, true},  // a repeated one hides all
                      Case{"1,0,1", {}, true},
                      Case{"GPU-b,GPU-bbbb", {}, true},
                      Case{"MIG-5555,MIG-5555", {}, true},
                      Case{"1abc", {1}, false},
                      Case{"+2", {2}, false},
                      Case{"0 1", {0}, false},
                      Case{"0;1", {0}, false},
                      Case{"0,GPU-b", {0}, true},  // another kind ends the list
                      Case{"GPU-b,0", {2}, true},
                      Case{"GPU-b,MIG-5555", {2}, true},
                      Case{"0,,1", {0}, true},
                      Case{"-1", {}, true},
                      Case{"0,-1,2", {0}, true},  // the first wrong entry ends the list
                      Case{"0,3,1", {0}, true},
                      Case{"NoDevFiles", {}, true},
                      Case{"GPU-bbbb0000-0000", {2}, false},
                      Case{"GPU-b", {2}, false},
                      Case{"GPU-aaaa", {}, true},  // fits two
                      Case{"GPU-aaaa2", {1}, false},
                      Case{"MIG-GPU-aaaa2222-0000/1/0", {1}, false},
                      Case{"MIG-5566", {1}, false},
                      Case{"MIG-5555,MIG-5566", {1}, false},
                      Case{"MIG-9", {}, true},
                      Case{"aaaa1111-0000", {}, true}));

}  // namespace
}  // namespace joulescale
