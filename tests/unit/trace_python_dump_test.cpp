// SPDX-License-Identifier: Apache-2.0
#include "trace/python_dump.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace keepgraph::trace {
namespace {

PythonStack parse(const std::string& text) {
    PythonStack stack;
    parse_python_dump(text, stack);
    return stack;
}

TEST(PythonDumpTest, ReadsFramesInnermostFirst) {
    const auto stack = parse(
        "Stack (most recent call first):\n"
        "  File \"/app/model.py\", line 12 in forward\n"
        "  File \"<string>\", line 1 in <module>\n");
    ASSERT_EQ(stack.frames.size(), 2u);
    EXPECT_EQ(stack.frames[0], (PythonFrame{"/app/model.py", 12, "forward"}));
    EXPECT_EQ(stack.frames[1], (PythonFrame{"<string>", 1, "<module>"}));
    EXPECT_EQ(stack.unavailable, "");
}

TEST(PythonDumpTest, UndoesEscapesThatTheDumpMakes) {
    const auto stack = parse("  File \"/tmp/\\xe9\\u4e2d\\U0001f600.py\", line 3 in \\xfcber\n");
    ASSERT_EQ(stack.frames.size(), 1u);
    EXPECT_EQ(stack.frames[0].file, "/tmp/\u00e9\u4e2d\U0001f600.py");
    EXPECT_EQ(stack.frames[0].function, "\u00fcber");
}

TEST(PythonDumpTest, LeavesBackslashesThatAreTheNamesOwn) {
    // \x41 would be 'A', which the dump never escapes; \u0041 and \U00000041 neither; upper-case digits neither.
    const auto stack = parse("  File \"C:\\x41\\u0041\\U00000041\\new\\xE9\\x\", line 3 in f\\\n");
    ASSERT_EQ(stack.frames.size(), 1u);
    EXPECT_EQ(stack.frames[0].file, "C:\\x41\\u0041\\U00000041\\new\\xE9\\x");
    EXPECT_EQ(stack.frames[0].function, "f\\");
}

TEST(PythonDumpTest, KeepsControlCharactersAndLoneSurrogatesEscaped) {
    const auto stack = parse("  File \"a\\x0ab\\udcff\", line 3 in f\n");
    ASSERT_EQ(stack.frames.size(), 1u);
    EXPECT_EQ(stack.frames[0].file, "a\\x0ab\\udcff");
}

TEST(PythonDumpTest, FileNameMayLookLikeALocation) {
    const auto stack = parse("  File \"a\", line 7 in b\", line 9 in f\n");
    ASSERT_EQ(stack.frames.size(), 1u);
    EXPECT_EQ(stack.frames[0], (PythonFrame{"a\", line 7 in b", 9, "f"}));
}

TEST(PythonDumpTest, UnknownPartsStayAsTheDumpWritesThem) {
    const auto stack = parse("  File ???, line ??? in ???\n");
    ASSERT_EQ(stack.frames.size(), 1u);
    EXPECT_EQ(stack.frames[0], (PythonFrame{"???", 0, "???"}));
}

TEST(PythonDumpTest, SaysWhenFramesAreMissing) {
    EXPECT_EQ(parse("  File \"a\", line 1 in f\n  ...\n").unavailable,
              "python frames incomplete: cut at the innermost 100");
    const auto cut = parse("  File \"a\", line 1 in f\n  File \"b\", li");
    EXPECT_EQ(cut.frames.size(), 1u);
    EXPECT_EQ(cut.unavailable, "python frames incomplete: the dump was cut");
}

TEST(PythonDumpTest, NoFrameIsNoReason) {
    EXPECT_EQ(parse("Stack (most recent call first):\n  <no Python frame>\n"), PythonStack{});
    EXPECT_EQ(parse(""), PythonStack{});
}

TEST(PythonDumpTest, RunsTheDumpAndKeepsNoDescriptor) {
    std::string name = "x.py";
    const int before = dup(0);
    close(before);
    PythonStack stack;
    dump_python_frames(
        [](int fd, void* state) {
            const std::string text = "  File \"" + *static_cast<std::string*>(state) + "\", line 5 in g\n";
            ASSERT_EQ(write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
        },
        &name, stack);
    ASSERT_EQ(stack.frames.size(), 1u);
    EXPECT_EQ(stack.frames[0], (PythonFrame{"x.py", 5, "g"}));
    const int after = dup(0);
    close(after);
    EXPECT_EQ(before, after);
}

TEST(PythonDumpTest, EndlessDumpIsCutInsteadOfHanging) {
    PythonStack stack;
    dump_python_frames(
        [](int fd, void*) {
            const std::string line = "  File \"" + std::string(500, 'x') + "\", line 5 in g\n";
            for (int i = 0; i < 1000; ++i) {
                (void)!write(fd, line.data(), line.size());
            }
        },
        nullptr, stack);
    EXPECT_GT(stack.frames.size(), 5u);
    EXPECT_LT(stack.frames.size(), 1000u);
}

}  // namespace
}  // namespace keepgraph::trace
