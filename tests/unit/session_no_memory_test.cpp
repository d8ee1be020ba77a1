// SPDX-License-Identifier: Apache-2.0
// Whole sessions, in each of which one request for memory fails, or all from that one on. Which one goes through the
// session in steps; KEEPGRAPH_TEST_EVERY_REQUEST=1 leaves none out. Book-keeping may be lost, the program may not:
// nothing is thrown out of the session, no launch is refused, and a finding that is not printed is made up for by the
// line that says so.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <new>
#include <string>

#include "fake_driver.h"
#include "no_memory.h"
#include "scratch.h"
#include "session/session.h"

namespace keepgraph::session {
namespace {

using unit_tests::failing_requests;
using unit_tests::FakeDriver;
using unit_tests::FakeFunction;
using unit_tests::FakeGraph;
using unit_tests::FakeNode;
using unit_tests::Scratch;

constexpr std::uintptr_t input = 0x7f0000001000, output = 0x7f0000002000, other = 0x7f0000003000;

const auto stream = reinterpret_cast<CUstream>(0x1000);
CUgraphExec exec_number(std::uintptr_t number) {
    return reinterpret_cast<CUgraphExec>(number << 8);
}

// What the program's driver knows. Made before requests fail: it is the program's memory.
struct Program {
    FakeFunction function{"_Z5scalePfS_", {{0, 8}, {8, 8}}};
    FakeGraph graph;
    FakeNode* kernel;
    FakeNode* copy;
    bool all_launched = true;

    Program() {
        FakeDriver::get().memory = {{1, input, 0x100}, {2, output, 0x100}, {3, other, 0x100}};
        kernel = &graph.add_kernel(function, input, output);
        copy = &graph.add(CU_GRAPH_NODE_TYPE_MEMCPY);
        copy->copy = copied(output, other);
        graph.edges.push_back({kernel, copy});
    }
    static CUDA_MEMCPY3D copied(std::uintptr_t from, std::uintptr_t to) {
        CUDA_MEMCPY3D copy{};
        copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
        copy.srcDevice = from;
        copy.dstDevice = to;
        copy.WidthInBytes = 0x10;
        copy.Height = copy.Depth = 1;
        return copy;
    }
    void launch(CUgraphExec exec) {
        void* launching = nullptr;
        all_launched = may_launch("cuGraphLaunch", exec, launching) && all_launched;
        launched(launching);
    }
    void free(std::uintptr_t address) {
        void* const dying = freeing("cuMemFree_v2", address);
        for (auto& memory : FakeDriver::get().memory)
            if (memory.base == address)
                memory.base = 0;
        freed("cuMemFree_v2", address, dying, true);
    }
    void destroy(CUgraphExec exec, bool succeeds) {
        void* const leaving = destroying(exec);
        destroyed(leaving, succeeds);
    }
    void run() {
        start();
        looked_up("cuGraphLaunch", true);
        born("cuMemAlloc_v2", input, 0x100);
        capture_began("cuStreamBeginCapture_v2", stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
        capture_ended("cuStreamEndCapture", stream, CUDA_SUCCESS, graph.handle());
        instantiated("cuGraphInstantiateWithFlags", exec_number(1), graph.handle());
        instantiated("cuGraphInstantiateWithFlags", exec_number(2), graph.handle());
        template_changing(copy->handle());
        launch(exec_number(1));
        updated("cuGraphExecUpdate_v2", exec_number(2), graph.handle());
        node_set("cuGraphExecMemcpyNodeSetParams", exec_number(2), copy->handle(), copied(other, output));
        node_enabled("cuGraphNodeSetEnabled", exec_number(2), copy->handle(), true);
        destroy(exec_number(2), false);
        free(input);
        launch(exec_number(1));
        launch(exec_number(2));
        FakeDriver::get().memory[0] = {9, input, 0x100};
        born("cuMemAlloc_v2", input, 0x100);
        free(other);
        launch(exec_number(1));
        destroy(exec_number(2), true);
        void* const leaving = template_destroying(graph.handle());
        template_destroyed(leaving, true);
        stream_destroyed(stream_destroying(stream), true);
        code_unloading();
        finish();
    }
};

struct Result {
    long requests = 0;
    bool all_launched = false;
};

// In a process of its own: a session begins once per process. What it printed goes to `said`.
Result run_once(long first, bool and_later, bool recording, std::string& said, int& status) {
    const Scratch scratch;
    auto* const shared =
        static_cast<Result*>(mmap(nullptr, sizeof(Result), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    if (shared == MAP_FAILED)
        throw std::bad_alloc();
    *shared = Result{};
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        const int log = open((scratch / "stderr").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
        dup2(log, STDERR_FILENO);
        setenv("KEEPGRAPH_STACKS", "all", 1);
        setenv("KEEPGRAPH_WRITE", "findings,graphs", 1);
        setenv("KEEPGRAPH_OPTIONS", "coverage=1", 1);
        if (recording)
            setenv("KEEPGRAPH_OUT", (scratch / "out").c_str(), 1);
        Program program;
        failing_requests = {0, first, and_later};
        program.run();
        shared->requests = failing_requests.made;
        failing_requests = {};
        shared->all_launched = program.all_launched;
        _exit(0);
    }
    waitpid(child, &status, 0);
    const Result result = *shared;
    munmap(shared, sizeof(Result));
    said = unit_tests::content(scratch / "stderr");
    return result;
}

class SessionNoMemory : public testing::TestWithParam<bool> {};

TEST_P(SessionNoMemory, TheProgramGoesOnWhenARequestFails) {
    std::string said;
    int status = -1;
    const long requests = run_once(0, false, GetParam(), said, status).requests;
    ASSERT_EQ(status, 0);
    ASSERT_NE(said.find("keepgraph: finding 1: "), std::string::npos) << said;
    ASSERT_NE(said.find("keepgraph: 2 graphs, 4 replays; "), std::string::npos) << said;
    ASSERT_GT(requests, 100);
    int bad = 0;
    // Each run forks. All requests would take minutes, most of them for what differs in nothing: strings of one
    // function.
    const bool every = std::getenv("KEEPGRAPH_TEST_EVERY_REQUEST") != nullptr;
    const long step_of_one = every ? 1 : GetParam() ? 3 : 2;
    const long step_of_all_later = every ? 1 : 3 * step_of_one + 1;
    for (const bool and_later : {false, true})
        for (long first = 1; first <= requests && bad < 5; first += and_later ? step_of_all_later : step_of_one) {
            const Result result = run_once(first, and_later, GetParam(), said, status);
            const bool told = said.find("keepgraph: finding 1: ") != std::string::npos ||
                              said.find("keepgraph: out of memory in ") != std::string::npos;
            bad += status != 0 || !result.all_launched || !told;
            EXPECT_EQ(status, 0) << "request " << first << (and_later ? " and all after it" : "") << ": " << said;
            EXPECT_TRUE(status != 0 || result.all_launched) << "request " << first;
            EXPECT_TRUE(status != 0 || told) << "request " << first << ": " << said;
        }
}

INSTANTIATE_TEST_SUITE_P(Requests, SessionNoMemory, testing::Bool(),
                         [](const auto& info) { return info.param ? "WithRecording" : "StderrOnly"; });

}  // namespace
}  // namespace keepgraph::session
