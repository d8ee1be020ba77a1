// SPDX-License-Identifier: Apache-2.0
// Which kernels pass arrays of addresses of which only a leading part is filled, and what that does to their slots.
#include "liveness/partial_arrays.h"

#include <array>

#include "fake_driver.h"
#include "liveness/scan.h"

namespace keepgraph::liveness {
namespace {

using config::Grade;
using unit_tests::FakeFunction;
using unit_tests::FakeGraph;

constexpr const char* foreach_kernel =
    "_ZN2at6native12_GLOBAL__N_125multi_tensor_apply_kernelINS1_18TensorListMetadataILi2EEE";

class LivenessPartialArrays : public unit_tests::OnFakeDriver {
  protected:
    static constexpr std::uintptr_t base = 0x7f0000001000;
    LivenessPartialArrays() {
        for (unsigned i = 0; i < 4; ++i)
            driver.memory.push_back({i + 1, base + i * 0x1000, 0x100});
    }
    /// The grades of the references of one kernel that takes four words in a struct, and another parameter of 8 bytes.
    std::vector<Grade> grades(const char* name, std::array<std::uintptr_t, 4> words) {
        FakeFunction function{name, {{0, 32}, {32, 8}}};
        FakeGraph graph;
        graph.add_kernel(function, words, base + 0x3000);
        const Scan found = scan(graph::Snapshot::read(graph.handle(), functions), seen);
        std::vector<Grade> result;
        for (const Reference& reference : found.references)
            result.push_back(reference.grade);
        return result;
    }

    graph::Functions functions;
    memory::Seen seen;
};

TEST_F(LivenessPartialArrays, NamesAreFoundInsideMangledNames) {
    EXPECT_TRUE(passes_partial_arrays(foreach_kernel));
    EXPECT_TRUE(passes_partial_arrays("_ZN2at6native12_GLOBAL__N_119CatArrayBatchedCopyIfjLi1ELi128ELi1EEEvPT_"));
    EXPECT_FALSE(passes_partial_arrays("_Z8kg_scalePKfPffi"));
    EXPECT_FALSE(passes_partial_arrays("multi_tensor_apply"));
    EXPECT_FALSE(passes_partial_arrays(""));
}

TEST_F(LivenessPartialArrays, OnlyTheLeadingRunIsLikely) {
    const std::vector<Grade> expected{Grade::likely, Grade::likely, Grade::possible, Grade::likely};
    EXPECT_EQ(grades(foreach_kernel, {base, base + 0x1000, 0, base + 0x2000}), expected)
        << "the last one is the parameter of its own, which is no array";
}

TEST_F(LivenessPartialArrays, OtherKernelsMayHaveHoles) {
    EXPECT_EQ(grades("_Z4gluePKf", {base, base + 0x1000, 0, base + 0x2000}), std::vector<Grade>(4, Grade::likely));
}

TEST_F(LivenessPartialArrays, PlainNumberEndsTheRunToo) {
    const std::vector<Grade> expected{Grade::possible, Grade::possible, Grade::likely};
    EXPECT_EQ(grades(foreach_kernel, {0x7f00000f0000, 0, base, base + 0x1000}), expected);
}

TEST_F(LivenessPartialArrays, UsersAddNames) {
    EXPECT_FALSE(passes_partial_arrays("_Z9my_kernelPKf"));
    add_partial_arrays({"my_kernel", "my_other"});
    add_partial_arrays({"third"});
    for (const char* name : {"_Z9my_kernelPKf", "_Z8my_otherPKf", "third", foreach_kernel})
        EXPECT_TRUE(passes_partial_arrays(name)) << name;
    EXPECT_FALSE(passes_partial_arrays("_Z9my_kerne"));
}

}  // namespace
}  // namespace keepgraph::liveness
