// SPDX-License-Identifier: Apache-2.0
// Law 1: with and without the shim, a program prints the same, returns the same, ends the same way.
#include <gtest/gtest.h>

#include "harness/on_double.h"

namespace keepgraph::preload_tests {
namespace {

class Transparency : public testing::TestWithParam<const char*> {};

TEST_P(Transparency, VictimEndsAsBare) {
    const auto outcome = expect_transparent({victim(GetParam())});
    EXPECT_FALSE(outcome.timed_out) << outcome.describe();
}

INSTANTIATE_TEST_SUITE_P(Victims, Transparency,
                         testing::Values("freed_input_shared_ptsz", "freed_input_driver_ptsz", "memset_nodes_shared",
                                         "memset_nodes_static", "memset_nodes_driver", "memset_nodes_linked",
                                         "pinned_shared", "pinned_static", "pinned_driver", "pinned_linked",
                                         "async_free_shared", "async_free_static", "async_free_driver",
                                         "dump_after_destroy_shared", "dump_after_destroy_driver", "threads8_shared",
                                         "threads8_static", "threads8_driver"),
                         [](const auto& info) { return std::string(info.param); });

struct System {
    const char* name;
    std::vector<std::string> args;
};
class TransparencySystem : public testing::TestWithParam<System> {};

TEST_P(TransparencySystem, ProgramWithoutCudaEndsAsBare) {
    const auto outcome = expect_transparent(GetParam().args);
    EXPECT_TRUE(keepgraph_lines(outcome.err).empty()) << outcome.describe();
}

INSTANTIATE_TEST_SUITE_P(Programs, TransparencySystem,
                         testing::Values(System{"true", {"/bin/true"}}, System{"ls", {"/bin/ls", "/"}},
                                         System{"bash", {"/bin/bash", "-c", "echo a; (echo b); exit 3"}},
                                         System{"env", {"/usr/bin/env", "-i", "/bin/echo", "x"}},
                                         System{"python",
                                                {"/usr/bin/python3", "-c", "import ctypes, sqlite3; print(1)"}}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace keepgraph::preload_tests
