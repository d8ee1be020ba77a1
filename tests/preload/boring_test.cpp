// SPDX-License-Identifier: Apache-2.0
// Law 10, cases F5 and F8: what the shared object is made of, read from the file, and what a process sees of it that
// never uses CUDA.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>

#include "harness/on_double.h"
#include "harness/recording.h"
#include "harness/syscalls.h"

namespace keepgraph::preload_tests {
namespace {

std::vector<std::string> readelf(const std::vector<std::string>& options) {
    std::vector<std::string> args = {"readelf"};
    args.insert(args.end(), options.begin(), options.end());
    args.push_back(shim());
    return lines_of(args);
}

struct Symbol {
    std::string name;     // with its version, as readelf prints it
    std::string binding;  // GLOBAL, WEAK, ...
    bool defined;
};

std::vector<Symbol> dynamic_symbols() {
    std::vector<Symbol> symbols;
    // Num: Value Size Type Bind Vis Ndx Name
    static const std::regex row(
        R"(\s*\d+:\s+[0-9a-f]+\s+\S+\s+(\S+)\s+(\S+)\s+\S+\s+(?:\[[^\]]*\]\s+)?(\S+)\s+(\S+).*)");
    for (const std::string& line : readelf({"-W", "--dyn-syms"})) {
        std::smatch match;
        if (std::regex_match(line, match, row))
            symbols.push_back({match[4], match[2], match[3] != "UND"});
    }
    EXPECT_GT(symbols.size(), 10u) << "readelf's table was not understood";
    return symbols;
}

std::set<std::string> symbols_of_the_table() {
    std::set<std::string> names = {"dlsym", "dlvsym"};
#define DRIVER(symbol, handler, need, parameters, arguments) names.insert(#symbol);
#define RUNTIME(symbol, handler, parameters, arguments) names.insert(#symbol);
#include "symbols.def"
#undef DRIVER
#undef RUNTIME
    return names;
}

TEST(Boring, NeedsOnlyLibcAndTheLoader) {
    std::set<std::string> needed;
    for (const std::string& line : readelf({"-dW"})) {
        if (line.find("(NEEDED)") == std::string::npos)
            continue;
        needed.insert(line.substr(line.find('[') + 1, line.rfind(']') - line.find('[') - 1));
    }
    EXPECT_EQ(needed.count("libc.so.6"), 1u);
    for (const std::string& library : needed) {
        EXPECT_TRUE(library == "libc.so.6" || library.compare(0, 8, "ld-linux") == 0) << library;
    }
}

TEST(Boring, RefersToNoFunctionOfCuda) {
    for (const Symbol& symbol : dynamic_symbols()) {
        if (symbol.defined)
            continue;
        EXPECT_NE(symbol.name.compare(0, 2, "cu"), 0) << symbol.name << " is undefined: an older driver cannot bind it";
    }
}

TEST(Boring, ExportsTheTableAndNothingElse) {
    std::set<std::string> exported;
    for (const Symbol& symbol : dynamic_symbols()) {
        // aarch64's linker lists sections too, as local symbols.
        if (symbol.defined && symbol.binding != "LOCAL")
            exported.insert(symbol.name);
    }
    std::set<std::string> table = symbols_of_the_table();
    for (const std::string& name : table)
        EXPECT_EQ(exported.count(name), 1u) << name << " is in no export";
    for (const std::string& name : exported)
        EXPECT_EQ(table.count(name), 1u) << name << " is in no row of symbols.def";
}

TEST(Boring, ExportsCarryNoVersion) {
    // A named version node switches off the interposition of cudart, whose callers ask for cudaMalloc@libcudart.so.13.
    for (const Symbol& symbol : dynamic_symbols()) {
        if (!symbol.defined)
            continue;
        EXPECT_EQ(symbol.name.find('@'), std::string::npos) << symbol.name;
    }
}

TEST(Boring, RunsOnGlibc235) {
    std::pair<int, int> highest{0, 0};
    for (const Symbol& symbol : dynamic_symbols()) {
        static const std::regex version(R"(.*@@?GLIBC_(\d+)\.(\d+).*)");
        std::smatch match;
        if (symbol.defined || !std::regex_match(symbol.name, match, version))
            continue;
        std::pair<int, int> wanted{std::stoi(match[1]), std::stoi(match[2])};
        EXPECT_LE(wanted, std::make_pair(2, 35)) << symbol.name;
        highest = std::max(highest, wanted);
    }
    EXPECT_GE(highest, std::make_pair(2, 2)) << "no version was read at all";
}

TEST(Boring, HasNoTextRelocationsAndItsOwnName) {
    std::string own_name;
    for (const std::string& line : readelf({"-dW"})) {
        EXPECT_EQ(line.find("TEXTREL"), std::string::npos) << line;
        EXPECT_EQ(line.find("RPATH"), std::string::npos) << line;
        EXPECT_EQ(line.find("RUNPATH"), std::string::npos) << line;
        if (line.find("(SONAME)") != std::string::npos)
            own_name = line;
    }
    EXPECT_TRUE(own_name.empty() || own_name.find("[libkeepgraph_preload.so") != std::string::npos) << own_name;
}

TEST(Boring, HasNoExecutableStack) {
    bool has_stack = false;
    for (const std::string& line : readelf({"-lW"})) {
        if (line.find("GNU_STACK") == std::string::npos)
            continue;
        has_stack = true;
        EXPECT_NE(line.find("RW "), std::string::npos) << line;
        EXPECT_EQ(line.find("RWE"), std::string::npos) << "the assembly file marks no stack: " << line;
    }
    EXPECT_TRUE(has_stack);
}

Command true_command(bool with_shim) {
    Conditions setup;
    setup.with_shim = with_shim;
    // Every setting that could tempt the shim to write.
    TempFolder unused;
    setup.env = {{"KEEPGRAPH_OUT", unused / "recording-%p"},
                 {"KEEPGRAPH_WRITE", "findings,graphs"},
                 {"KEEPGRAPH_STACKS", "all"}};
    return command_for({"/bin/true"}, setup);
}

TEST(Boring, ProcessWithoutCudaOpensNothingButTheShim) {
    Trace bare = trace_system_calls(true_command(false));
    Trace shimmed = trace_system_calls(true_command(true));
    EXPECT_EQ(bare.exit_code, 0);
    EXPECT_EQ(shimmed.exit_code, 0);
    EXPECT_FALSE(bare.opened.empty()) << "the trace saw nothing, not even libc";
    EXPECT_EQ(std::count(shimmed.opened.begin(), shimmed.opened.end(), shim()), 1) << "the shim was not loaded";
    std::multiset<std::string> more(shimmed.opened.begin(), shimmed.opened.end());
    for (const std::string& path : bare.opened) {
        auto found = more.find(path);
        if (found != more.end())
            more.erase(found);
    }
    more.erase(shim());
    for (const std::string& path : more)
        ADD_FAILURE() << "opened under the shim only: " << path;
    EXPECT_EQ(shimmed.folders, bare.folders);
    EXPECT_EQ(shimmed.tasks, bare.tasks) << "a thread or process was made";
    EXPECT_EQ(shimmed.sockets, bare.sockets);
}

TEST(Boring, BashOpensNothingMore) {
    Conditions setup;
    auto shimmed = trace_system_calls(command_for({"/bin/bash", "-c", "echo $((1+1))"}, setup));
    auto bare = trace_system_calls(command_for({"/bin/bash", "-c", "echo $((1+1))"}, setup.bare()));
    EXPECT_EQ(shimmed.exit_code, 0);
    EXPECT_EQ(shimmed.opened.size(), bare.opened.size() + 1) << "only the shim itself may be added";
    EXPECT_EQ(shimmed.tasks, bare.tasks);
}

TEST(Boring, TraceSeesWhatItShouldSee) {
    // The two tests above show an absence: this one shows that the tracer would have noticed.
    TempFolder folder;
    write_file(folder / "file", "x");
    Conditions setup;
    Trace trace = trace_system_calls(
        command_for({"/bin/bash", "-c", "exec 3< " + (folder / "file") + "; /bin/true; exit 3"}, setup.bare()));
    EXPECT_EQ(trace.exit_code, 3);
    EXPECT_EQ(std::count(trace.opened.begin(), trace.opened.end(), folder / "file"), 1);
    EXPECT_EQ(trace.tasks, 1);
    Trace made = trace_system_calls(command_for({"/bin/mkdir", folder / "again"}, setup.bare()));
    EXPECT_EQ(made.folders, std::vector<std::string>{folder / "again"});
}

// ---- other drivers: case F5

TEST(BoringDrivers, DriverOfCuda110) {
    // It exports what existed in 11.0: most rows of the table have no real function there.
    Conditions conditions;
    conditions.library_path = double_folder() + "/old:" + double_folder();
    for (const char* program : {"healthy_driver", "freed_input_driver", "memcpy_nodes_driver"}) {
        Outcome outcome = expect_transparent({victim(program)}, conditions);
        EXPECT_FALSE(outcome.timed_out) << outcome.describe();
        EXPECT_EQ(outcome.signal, 0) << outcome.describe();
    }
    // Linked to a function that this driver lacks: bare, the loader refuses to start it. Under the shim the name is
    // bound to our wrapper, which says "not initialised"; there is no way to give the loader's refusal back.
    Outcome linked = run_on_double({victim("healthy_linked")}, conditions);
    EXPECT_EQ(linked.signal, 0) << linked.describe();
    EXPECT_NE(linked.exit_code, 0) << linked.describe();
    EXPECT_NE(linked.out.find("gpu::instantiate(&exec, graph): 3"), std::string::npos) << linked.describe();
}

// The notices of a run, which stderr must hold as well.
std::vector<std::string> notices(const std::vector<std::string>& args, Conditions conditions) {
    TempFolder folder;
    conditions.env.emplace_back("KEEPGRAPH_OUT", folder / "out");
    const Outcome outcome = expect_transparent(args, conditions);
    std::vector<std::string> texts;
    for (const Json& notice : Recording::read(folder / "out").of_type("notice")) {
        texts.push_back(notice.at("text"));
        EXPECT_EQ(count_lines_with(keepgraph_lines(outcome.err), texts.back()), 1u) << outcome.describe();
    }
    return texts;
}

TEST(BoringDrivers, WhatADriverLacksIsSaidOnce) {
    // `again`: two graphs.
    const std::vector<std::string> two_graphs = {hostile("inputs"), "1", "again"};
    EXPECT_EQ(notices(two_graphs, {}), std::vector<std::string>{}) << "today's driver lacks nothing";
    Conditions lacking;
    lacking.library_path = double_folder() + "/lacking:" + double_folder();
    EXPECT_EQ(
        notices(two_graphs, lacking),
        std::vector<std::string>{"libcuda has no cuGraphInstantiate_v2: what the program does by another function "
                                 "in its place is not seen"});
    // Of CUDA 11.0 the getters are missing that came later, and no required row: cuGetProcAddress and
    // cuGraphInstantiateWithFlags have others in their place.
    Conditions old;
    old.library_path = double_folder() + "/old:" + double_folder();
    const std::vector<std::string> of_old = notices(two_graphs, old);
    EXPECT_EQ(count_lines_with(of_old, "is not seen"), 0u) << testing::PrintToString(of_old);
    EXPECT_EQ(count_lines_with(of_old, "libcuda has no cuFuncGetParamInfo or cuKernelGetParamInfo"), 1u)
        << testing::PrintToString(of_old);
}

TEST(BoringDrivers, NoDriverIsSilent) {
    // cudart is there, libcuda is not: the program says so, the shim says nothing.
    TempFolder folder;
    std::filesystem::create_symlink(double_folder() + "/cudart/libcudart.so.13", folder / "libcudart.so.13");
    Conditions conditions;
    conditions.library_path = folder.path();
    for (const char* program : {"healthy_shared", "healthy_static", "healthy_driver"}) {
        Outcome outcome = expect_transparent({victim(program)}, conditions);
        EXPECT_NE(outcome.exit_code, 0) << "a driver was found: " << outcome.describe();
        EXPECT_TRUE(keepgraph_lines(outcome.err).empty()) << outcome.describe();
    }
}

TEST(BoringDrivers, NoDeviceIsSilent) {
    Conditions conditions;
    conditions.env = {{"KEEPGRAPH_SIM_DEVICES", "0"}};
    Outcome outcome = expect_transparent({victim("healthy_shared")}, conditions);
    EXPECT_NE(outcome.exit_code, 0);
    EXPECT_TRUE(keepgraph_lines(outcome.err).empty()) << outcome.describe();
}

}  // namespace
}  // namespace keepgraph::preload_tests
