// SPDX-License-Identifier: Apache-2.0
#include "graph/function.h"
#include "graph/parameter_types.h"

#include "fake_driver.h"

namespace keepgraph::graph {
namespace {

using unit_tests::FakeFunction;
using unit_tests::Lacking;

class GraphFunction : public unit_tests::OnFakeDriver {
  protected:
    static CUDA_KERNEL_NODE_PARAMS node_of(FakeFunction& function) {
        CUDA_KERNEL_NODE_PARAMS node{};
        node.func = function.function();
        return node;
    }
    static CUDA_KERNEL_NODE_PARAMS library_node_of(FakeFunction& function) {
        CUDA_KERNEL_NODE_PARAMS node{};
        node.kern = function.kernel();
        return node;
    }

    Functions functions;
    FakeFunction scale{"kg_scale", {{0, 8}, {8, 4}, {16, 24}}};
};

TEST_F(GraphFunction, LayoutIsWhatTheDriverTells) {
    const FunctionPtr function = functions.of(node_of(scale));
    EXPECT_EQ(function->mangled, "kg_scale");
    ASSERT_TRUE(function->layout_known);
    ASSERT_EQ(function->parameters.size(), 3u);
    EXPECT_EQ(function->parameters[1].offset, 8u);
    EXPECT_EQ(function->parameters[1].size, 4u);
    EXPECT_EQ(function->parameters[2].offset, 16u) << "the hole before it is the compiler's, not a parameter";
    EXPECT_EQ(function->parameters[2].size, 24u);
    EXPECT_EQ(function->bytes, 40u);
    EXPECT_GE(function->slots.size(), 10u) << "one per 4 bytes";
}

TEST_F(GraphFunction, BytesReachToTheLastByteOfAnyParameter) {
    FakeFunction odd{"odd", {{32, 8}, {0, 16}}};
    EXPECT_EQ(functions.of(node_of(odd))->bytes, 40u);
}

TEST_F(GraphFunction, NoParametersIsAKnownLayout) {
    FakeFunction empty{"empty", {}};
    const FunctionPtr function = functions.of(node_of(empty));
    EXPECT_TRUE(function->layout_known);
    EXPECT_EQ(function->bytes, 0u);
}

TEST_F(GraphFunction, KernelOfALibraryIsAskedByItsOwnFunctions) {
    const Lacking no_names(&driver::Api::cuFuncGetName);
    const Lacking no_layout(&driver::Api::cuFuncGetParamInfo);
    const FunctionPtr function = functions.of(library_node_of(scale));
    EXPECT_EQ(function->mangled, "kg_scale");
    EXPECT_TRUE(function->layout_known);
    EXPECT_EQ(function->bytes, 40u);
}

TEST_F(GraphFunction, DriverWithoutParamInfoLeavesTheLayoutUnknown) {
    const Lacking no_layout(&driver::Api::cuFuncGetParamInfo);
    const FunctionPtr function = functions.of(node_of(scale));
    EXPECT_EQ(function->mangled, "kg_scale");
    EXPECT_FALSE(function->layout_known);
    EXPECT_TRUE(function->parameters.empty());
    const Lacking no_kernel_layout(&driver::Api::cuKernelGetParamInfo);
    FakeFunction other{"other", {{0, 8}}};
    EXPECT_FALSE(functions.of(library_node_of(other))->layout_known);
}

TEST_F(GraphFunction, DriverWithoutNamesStillTellsTheLayout) {
    const Lacking no_names(&driver::Api::cuFuncGetName);
    const FunctionPtr function = functions.of(node_of(scale));
    EXPECT_EQ(function->mangled, "");
    EXPECT_EQ(function->bytes, 40u);
}

TEST_F(GraphFunction, AnErrorThatIsNotPastTheLastMakesTheLayoutUnknown) {
    scale.past_the_last = CUDA_ERROR_INVALID_CONTEXT;
    EXPECT_FALSE(functions.of(node_of(scale))->layout_known);
}

TEST_F(GraphFunction, DriverThatNeverSaysPastTheLastIsLeft) {
    scale.past_the_last = CUDA_SUCCESS;
    EXPECT_EQ(functions.of(node_of(scale))->parameters.size(), 32768u);
}

TEST_F(GraphFunction, HandleIsAskedOnceUntilForgotten) {
    const FunctionPtr first = functions.of(node_of(scale));
    EXPECT_EQ(functions.of(node_of(scale)), first);
    EXPECT_EQ(driver.functions_asked, 1u);
    functions.forget();
    scale.name = "kg_copy";  // the handle came back for another kernel
    EXPECT_EQ(functions.of(node_of(scale))->mangled, "kg_copy");
    EXPECT_EQ(driver.functions_asked, 2u);
    EXPECT_EQ(first->mangled, "kg_scale") << "what holds the old one keeps it";
}

TEST_F(GraphFunction, WhatWasLearntOutlivesAReload) {
    const FunctionPtr first = functions.of(node_of(scale));
    functions.forget();
    FakeFunction reloaded = scale;
    EXPECT_EQ(functions.of(node_of(reloaded)), first) << "one name and one layout are one Function";
    FakeFunction longer = scale;
    longer.parameters.back().size = 32;
    FakeFunction fewer = scale;
    fewer.parameters.pop_back();
    FakeFunction more = scale;
    more.parameters.push_back({40, 4});
    FakeFunction renamed = scale;
    renamed.name = "kg_scale2";
    for (FakeFunction* const other : {&longer, &fewer, &more, &renamed})
        EXPECT_NE(functions.of(node_of(*other)), first);
}

TEST_F(GraphFunction, TypesOfParametersAreInTheName) {
    using Types = std::vector<std::string>;
    EXPECT_EQ(parameter_types("_Z8kg_twiceIfEvPKT_PS0_i", 3), (Types{"float const*", "float*", "int"}));
    EXPECT_EQ(parameter_types("_Z1fPFvifESt4pairIiPfEm", 3),
              (Types{"void (*)(int, float)", "std::pair<int, float*>", "unsigned long"}))
        << "commas within a type part nothing";
    EXPECT_EQ(parameter_types("_ZN2ns1gEPfS0_", 2), (Types{"float*", "float*"}));
    EXPECT_EQ(parameter_types("_ZN2ns1gEPfS0_", 3), Types{}) << "the driver knows of another number";
    EXPECT_EQ(parameter_types("kg_scale", 4), Types{}) << "extern \"C\"";
    EXPECT_EQ(parameter_types("_ZTI3foo", 1), Types{}) << "no function";
    EXPECT_EQ(parameter_types("", 0), Types{});
}

TEST_F(GraphFunction, ParametersMayHaveOneTypeUnlessTheNameSaysOtherwise) {
    FakeFunction typed{"_Z8kg_twiceIfEvPKT_PS0_i", {{0, 8}, {8, 8}, {16, 4}}};
    const FunctionPtr function = functions.of(node_of(typed));
    EXPECT_FALSE(function->may_have_one_type(0, 1));
    EXPECT_TRUE(function->may_have_one_type(1, 1));
    FakeFunction pair{"_Z1gPfS_", {{0, 8}, {8, 8}}};
    EXPECT_TRUE(functions.of(node_of(pair))->may_have_one_type(0, 1));
    EXPECT_TRUE(functions.of(node_of(scale))->may_have_one_type(0, 3)) << "untyped";
}

}  // namespace
}  // namespace keepgraph::graph
