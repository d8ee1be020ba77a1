// SPDX-License-Identifier: Apache-2.0
// The pieces of the command that a process of its own would show too little of.
#include "cli/elf_file.h"
#include "cli/out_folder.h"
#include "cli/preload.h"
#include "cli/quote.h"
#include "cli/script_line.h"
#include "command.h"

namespace keepgraph::cli_tests {
namespace {

using namespace keepgraph::cli;

TEST(PartsElf, ReadsTheShim) {
    const auto elf = ElfFile::open(shim());
    ASSERT_TRUE(elf);
    EXPECT_TRUE(elf->dynamic);
    EXPECT_EQ(elf->interpreter, "");
    EXPECT_TRUE(elf->defines("dlsym"));
    EXPECT_FALSE(elf->defines("no_such_symbol"));
    EXPECT_TRUE(elf->has_section(".text"));
    EXPECT_FALSE(elf->has_section(".nv_fatbin"));
    bool needs_glibc = false;
    for (const auto& [file, version] : elf->version_needs) {
        needs_glibc = needs_glibc || (file == "libc.so.6" && version.rfind("GLIBC_2.", 0) == 0);
    }
    EXPECT_TRUE(needs_glibc);
    const auto old = ElfFile::open(program("libold_libc.so"));
    ASSERT_TRUE(old);
    EXPECT_EQ(old->version_definitions, (std::vector<std::string>{"GLIBC_2.2.5", "GLIBC_2.17"}));
    EXPECT_TRUE(ElfFile::open(program("libfake_getxattr.so"))->imports("strcmp"));
    EXPECT_FALSE(ElfFile::open(program("libfake_getxattr.so"))->imports("getxattr"));
}

TEST(PartsElf, SurvivesFilesThatAreCutOrWrong) {
    TempFolder folder;
    const std::string good = preload_tests::read_file(program("libold_libc.so"));
    const auto look_at = [&](const std::string& bytes) {
        write_file(folder / "file", bytes);
        const auto elf = ElfFile::open(folder / "file");
        return elf && elf->defines("old_function") && elf->has_section(".text") && elf->version_definitions.size() == 2;
    };
    EXPECT_TRUE(look_at(good));
    for (std::size_t size = 0; size < good.size(); size += size < 1024 ? 7 : 509) {
        EXPECT_FALSE(look_at(good.substr(0, size))) << size;
    }
    // Offsets and counts that lead out of the file.
    std::size_t still_whole = 0;
    for (std::size_t at = 16; at < good.size(); at += at < 1024 ? 1 : 61) {
        std::string bytes = good;
        for (std::size_t i = at; i < std::min(at + 8, bytes.size()); ++i) {
            bytes[i] = static_cast<char>(0xff);
        }
        still_whole += look_at(bytes);
    }
    EXPECT_GT(still_whole, 0u);
    EXPECT_FALSE(ElfFile::open(folder.path()));
    EXPECT_FALSE(ElfFile::open("/no/such/file"));
}

TEST(PartsPreload, ChainHasEachLibraryOnce) {
    EXPECT_EQ(preload_chain({}, "/s.so", nullptr), "/s.so");
    EXPECT_EQ(preload_chain({}, "/s.so", ""), "/s.so");
    EXPECT_EQ(preload_chain({}, "/s.so", "a.so::b.so  c.so:"), "/s.so:a.so:b.so:c.so");
    EXPECT_EQ(preload_chain({"/libasan.so.8"}, "/s.so", "x.so:/libasan.so.8:/s.so"), "/libasan.so.8:/s.so:x.so");
    EXPECT_EQ(preload_chain({}, "/s.so", "/other/build/libkeepgraph_preload.so:x.so"), "/s.so:x.so");
    TempFolder folder;
    write_file(folder / "real.so", "");
    std::filesystem::create_symlink(folder / "real.so", folder / "link.so");
    EXPECT_EQ(preload_chain({}, folder / "real.so", (folder / "link.so").c_str()), folder / "real.so");
}

TEST(PartsScript, InterpreterAndProgramOfEnv) {
    const auto parsed = [](const std::string& text) {
        const ScriptLine line = parse_script_line(text);
        return line.interpreter + "|" + line.through_env;
    };
    EXPECT_EQ(parsed("#!/bin/sh\nx"), "/bin/sh|");
    EXPECT_EQ(parsed("#! \t/bin/sh -e x\n"), "/bin/sh|");
    EXPECT_EQ(parsed("#!/bin/sh"), "/bin/sh|");
    EXPECT_EQ(parsed("#!/usr/bin/env python3\n"), "/usr/bin/env|python3");
    EXPECT_EQ(parsed("#!/usr/bin/env -S A=1 python3 -u\n"), "/usr/bin/env|python3");
    EXPECT_EQ(parsed("#!/usr/bin/env -Spython3 -u\n"), "/usr/bin/env|python3");
    EXPECT_EQ(parsed("#!/usr/bin/env\n"), "/usr/bin/env|");
    EXPECT_EQ(parsed("#!\n/bin/sh"), "|");
    EXPECT_EQ(parsed("#"), "|");
    EXPECT_EQ(parsed(""), "|");
    EXPECT_EQ(parsed("echo #!/bin/sh"), "|");
}

TEST(PartsQuote, ShellAndKubernetes) {
    EXPECT_EQ(shell_word("/a/b-c_1.so:x=y,%p"), "/a/b-c_1.so:x=y,%p");
    EXPECT_EQ(shell_word(""), "''");
    EXPECT_EQ(shell_word("a b"), "'a b'");
    EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
    EXPECT_EQ(k8s_value("a"), "\"a\"");
    EXPECT_EQ(k8s_value("$(A) $B $$"), "\"$$(A) $$B $$$$\"");
}

TEST(PartsOut, PatternsAndFolders) {
    EXPECT_EQ(absolute_out(""), "");
    EXPECT_EQ(absolute_out("/a/%p"), "/a/%p");
    EXPECT_EQ(absolute_out("a"), literal_out(std::filesystem::current_path().native()) + "/a");
    EXPECT_EQ(literal_out("/5%p"), "/5%%p");
    TempFolder folder;
    EXPECT_EQ(make_fresh_folder(folder / "x/%%/"), folder / "x/%");
    EXPECT_EQ(make_fresh_folder(folder / "x/%%"), folder / "x/%-1");
    std::filesystem::path temporary;
    {
        TemporaryFolder made;
        temporary = made.path();
        EXPECT_TRUE(std::filesystem::is_directory(temporary));
    }
    EXPECT_FALSE(std::filesystem::exists(temporary));
}

}  // namespace
}  // namespace keepgraph::cli_tests
