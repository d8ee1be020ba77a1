// SPDX-License-Identifier: Apache-2.0
// Calls of two threads that overlap, in the orders that matter, on one thread: what a door tells the session before the
// real call, what it tells it after, and what another thread does in between.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "fake_driver.h"
#include "scratch.h"
#include "session/session.h"

namespace keepgraph::session {
namespace {

using unit_tests::FakeDriver;
using unit_tests::FakeFunction;
using unit_tests::FakeGraph;
using unit_tests::Scratch;

constexpr std::uintptr_t input = 0x7f0000001000, output = 0x7f0000005000;
const auto first = reinterpret_cast<CUgraphExec>(0x100), second = reinterpret_cast<CUgraphExec>(0x200);

struct Program {
    FakeFunction function{"_Z5scalePKfPf", {{0, 8}, {8, 8}}};
    FakeGraph graph;

    Program() {
        FakeDriver::get().memory = {{1, input, 0x100}, {2, output, 0x100}};
        graph.add_kernel(function, input, output);
        start();
    }
    void instantiate(CUgraphExec exec) { instantiated("cuGraphInstantiateWithFlags", exec, graph.handle()); }
    static void gone(std::uintptr_t base) {
        auto& memory = FakeDriver::get().memory;
        std::erase_if(memory, [&](const auto& block) { return block.base == base; });
    }
    static bool may_launch(CUgraphExec exec) {
        void* launching = nullptr;
        return session::may_launch("cuGraphLaunch", exec, launching);
    }
};

// In a process of its own: a session begins once per process. What it printed goes to `said`.
template <class Work>
void expect_in_child(Work work, std::string& said) {
    const Scratch scratch;
    const pid_t child = fork();
    if (child == 0) {
        dup2(::open((scratch / "stderr").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600), STDERR_FILENO);
        setenv("KEEPGRAPH_ON_FINDING", "refuse", 1);
        Program program;
        work(program);
        finish();
        _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    said = unit_tests::content(scratch / "stderr");
    EXPECT_EQ(status, 0) << said;
}
std::size_t count(const std::string& text, const std::string& part) {
    std::size_t number = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++number;
    return number;
}

TEST(SessionOverlap, GraphMadeBetweenAFreeAndItsReturnHasTheFindingOfAllOthers) {
    std::string said;
    expect_in_child(
        [](Program& program) {
            program.instantiate(first);
            void* const dying = freeing("cuMemFree_v2", input);
            program.instantiate(second);  // read before the real free, known of afterwards
            Program::gone(input);
            program.instantiate(reinterpret_cast<CUgraphExec>(0x300));  // finds it gone
            freed("cuMemFree_v2", input, dying, true);
            EXPECT_FALSE(Program::may_launch(first));
            EXPECT_FALSE(Program::may_launch(second));
        },
        said);
    EXPECT_EQ(count(said, "freed by cuMemFree_v2, thread"), 2u) << said;
    EXPECT_EQ(count(said, "an unseen call"), 0u) << said;
}

TEST(SessionOverlap, FreeThatBeganBeforeTheGraphIsSeenWhenItReturns) {
    std::string said;
    expect_in_child(
        [](Program& program) {
            void* const dying = freeing("cuMemFree_v2", input);
            EXPECT_EQ(dying, nullptr) << "nothing refers to it yet";
            program.instantiate(first);
            Program::gone(input);
            freed("cuMemFree_v2", input, dying, true);
            EXPECT_FALSE(Program::may_launch(first));
        },
        said);
    EXPECT_EQ(count(said, "freed by cuMemFree_v2, thread"), 1u) << said;
}

TEST(SessionOverlap, AddressThatIsGivenOutBeforeTheFreeReturnsHasAYoungerOwner) {
    std::string said;
    expect_in_child(
        [](Program& program) {
            program.instantiate(first);
            void* const dying = freeing("cuMemFree_v2", input);
            Program::gone(input);
            FakeDriver::get().memory.push_back({9, input, 0x100});
            born("cuMemAlloc_v2", input, 0x100);
            freed("cuMemFree_v2", input, dying, true);
            EXPECT_FALSE(Program::may_launch(first));
        },
        said);
    EXPECT_EQ(count(said, "which was freed and allocated again"), 1u) << said;
    EXPECT_EQ(count(said, "freed by cuMemFree_v2, thread"), 1u) << said;
}

TEST(SessionOverlap, MemoryThatNobodyFreedInSightIsDeadForEveryGraphThatHoldsIt) {
    std::string said;
    expect_in_child(
        [](Program& program) {
            program.instantiate(first);
            FakeDriver::get().memory[0].id = 9;  // another allocation at the address, and no call told
            program.instantiate(second);
            EXPECT_FALSE(Program::may_launch(first));
            EXPECT_TRUE(Program::may_launch(second)) << "made on the younger one";
        },
        said);
    EXPECT_EQ(count(said, "freed by an unseen call"), 1u) << said;
    EXPECT_EQ(count(said, "the address was given out again: to"), 1u) << said;
}

}  // namespace
}  // namespace keepgraph::session
