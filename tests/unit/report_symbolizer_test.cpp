// SPDX-License-Identifier: Apache-2.0
// Real programs are run, the addresses that they saw are looked up afterwards in their files, and what comes out is
// compared with what the compiler told the programs about themselves (__LINE__).
#include "report/symbolizer.h"

#include <gtest/gtest.h>

#include <sstream>

#include "fixture.h"

namespace keepgraph::report {
namespace {

using namespace unit_tests;

struct ExpectedCall {
    std::uint64_t address = 0;
    std::uint64_t line = 0;
    std::string function;
};

struct Recorded {
    Recording recording;
    std::vector<ExpectedCall> calls;
};

Recorded record(std::vector<std::string> args) {
    args[0] = from_environment("KEEPGRAPH_STACKS") + "/" + args[0];
    const Outcome outcome = run_tool(args);
    if (!outcome.ended_with(0))
        throw std::runtime_error(outcome.describe());
    Recorded result;
    std::istringstream lines(outcome.out);
    std::string what;
    while (lines >> what) {
        if (what == "module") {
            RecordedModule module;
            lines >> std::hex >> module.base >> module.end >> std::dec >> module.build_id >> std::ws;
            std::getline(lines, module.path);
            if (module.build_id == "-")
                module.build_id.clear();
            result.recording.modules.push_back(module);
        } else {
            ExpectedCall call;
            lines >> std::hex >> call.address >> std::dec >> call.line >> std::ws;
            std::getline(lines, call.function);
            result.calls.push_back(call);
        }
    }
    if (result.calls.size() != 4)
        throw std::runtime_error("unexpected output: " + outcome.out);
    return result;
}

std::vector<SourceFrame> resolve(Symbolizer& symbolizer, const Recorded& recorded, const ExpectedCall& call) {
    return symbolizer.resolve(recorded.recording.module_of(call.address, 0), call.address);
}

/// `void deep::f<int>(...)` and `deep::f<int>`: the name with its template arguments alone.
bool names(const std::string& function, const std::string& expected) {
    return function == expected || function.find(expected + "(") != std::string::npos;
}

void expect_function_and_line(const Recorded& recorded) {
    Symbolizer symbolizer;
    for (const ExpectedCall& call : recorded.calls) {
        const std::vector<SourceFrame> frames = resolve(symbolizer, recorded, call);
        EXPECT_TRUE(names(frames[0].function, call.function)) << frames[0].function << " for " << call.function;
        EXPECT_EQ(frames[0].line, call.line) << call.function;
        EXPECT_EQ(std::filesystem::path(frames[0].file).filename(), "stack_functions.cpp");
        EXPECT_EQ(frames[0].trouble, "");
    }
    const std::vector<SourceFrame> inlined = resolve(symbolizer, recorded, recorded.calls[2]);
    ASSERT_EQ(inlined.size(), 2u);
    EXPECT_TRUE(inlined[0].inlined);
    EXPECT_FALSE(inlined[1].inlined);
    EXPECT_TRUE(names(inlined[1].function, "deep::outer_function")) << inlined[1].function;
    EXPECT_GT(inlined[1].line, inlined[0].line);
}

TEST(SymbolizerTest, PositionIndependentProgram) {
    const Recorded recorded = record({"stack_pie"});
    EXPECT_NE(recorded.recording.module_of(recorded.calls[0].address, 0)->base, 0u);
    expect_function_and_line(recorded);
}

TEST(SymbolizerTest, ProgramAtFixedAddresses) {
    const Recorded recorded = record({"stack_no_pie"});
    EXPECT_EQ(recorded.recording.module_of(recorded.calls[0].address, 0)->base, 0u);
    expect_function_and_line(recorded);
}

TEST(SymbolizerTest, SharedLibrary) {
    expect_function_and_line(
        record({"stack_with_library", from_environment("KEEPGRAPH_STACKS") + "/libstack_library.so"}));
}

class StrippedLibrary : public testing::Test {
  protected:
    StrippedLibrary() {
        const std::string original = from_environment("KEEPGRAPH_STACKS") + "/libstack_library.so";
        tool({"objcopy", "--only-keep-debug", original, debug_});
        tool({"objcopy", "--strip-debug", "--strip-unneeded", "--add-gnu-debuglink=" + debug_, original, library_});
    }
    static void tool(const std::vector<std::string>& args) {
        const Outcome outcome = run_tool(args);
        if (!outcome.ended_with(0))
            throw std::runtime_error(outcome.describe());
    }
    SourceFrame first(const Recorded& recorded, std::size_t call) {
        Symbolizer symbolizer;
        return resolve(symbolizer, recorded, recorded.calls[call])[0];
    }

    TempFolder temp_;
    std::string debug_ = temp_ / "stripped.debug";
    std::string library_ = temp_ / "libstripped.so";
};

TEST_F(StrippedLibrary, DebugFileBesideIt) {
    expect_function_and_line(record({"stack_with_library", library_}));
}

TEST_F(StrippedLibrary, WithoutTheDebugFileTheSymbolTableGivesTheName) {
    const Recorded recorded = record({"stack_with_library", library_});
    std::filesystem::remove(debug_);
    const SourceFrame frame = first(recorded, 0);
    EXPECT_EQ(frame.function, "plain_function");
    EXPECT_EQ(frame.line, 0u);
    EXPECT_EQ(frame.file, "");
    EXPECT_EQ(first(recorded, 3).function, "never_returns");  // not the function behind it
}

TEST_F(StrippedLibrary, AnotherBuildOnDiskGivesNoNames) {
    const Recorded recorded = record({"stack_with_library", library_});
    tool({"g++", "-shared", "-fPIC", "-Wl,--build-id=0x0123", "-o", library_, "-x", "c++", "/dev/null"});
    const SourceFrame frame = first(recorded, 0);
    EXPECT_EQ(frame.function, "");
    EXPECT_EQ(frame.line, 0u);
    EXPECT_EQ(frame.trouble, "file changed on disk");
    EXPECT_EQ(frame.module, library_);
    EXPECT_NE(frame.offset, 0u);
}

TEST_F(StrippedLibrary, MissingFileGivesModuleAndOffset) {
    const Recorded recorded = record({"stack_with_library", library_});
    std::filesystem::remove(library_);
    const SourceFrame frame = first(recorded, 0);
    EXPECT_EQ(frame.trouble, "file not found");
    const RecordedModule* module = recorded.recording.module_of(recorded.calls[0].address, 0);
    EXPECT_EQ(frame.offset, recorded.calls[0].address - module->base);
    write_file(library_, "no ELF at all");
    EXPECT_EQ(first(recorded, 0).trouble, "file not found");
}

TEST(SymbolizerTest, AddressesOutsideEveryFile) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer puts a function of its own at the program's end";
#endif
    Symbolizer symbolizer;
    const std::vector<SourceFrame> frames = symbolizer.resolve(nullptr, 0x1234);
    ASSERT_EQ(frames.size(), 1u);
    EXPECT_EQ(frames[0].module, "");
    EXPECT_EQ(frames[0].address, 0x1234u);

    Recorded recorded = record({"stack_pie"});
    const RecordedModule* program = recorded.recording.module_of(recorded.calls[0].address, 0);
    for (const std::uint64_t offset :
         {std::uint64_t(0), std::uint64_t(1), program->end - program->base - 1, ~std::uint64_t(0) - program->base}) {
        const std::vector<SourceFrame> outside = symbolizer.resolve(program, program->base + offset);
        EXPECT_EQ(outside.back().offset, offset);
        EXPECT_EQ(outside.back().line, 0u);
    }
}

}  // namespace
}  // namespace keepgraph::report
