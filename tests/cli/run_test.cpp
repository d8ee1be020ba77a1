// SPDX-License-Identifier: Apache-2.0
// keepgraph run without --error-exitcode.
#include <elf.h>
#include <unistd.h>

#include <regex>

#include "cli/elf_file.h"
#include "command.h"
#include "config/settings.h"

namespace keepgraph::cli_tests {
namespace {

TEST(Run, TakesThePlaceOfTheCommand) {
    const Outcome outcome = keepgraph({"run", "--", fake_app(), "parent", "exit", "37"});
    EXPECT_TRUE(outcome.ended_with(37)) << outcome.describe();
    EXPECT_EQ(outcome.out, std::to_string(getpid()) + "\n");  // no process in between
    EXPECT_EQ(outcome.err, "");
    EXPECT_EQ(keepgraph({"run", "--", fake_app(), "raise", "15"}).signal, 15);
}

TEST(Run, ArgumentsArriveAsTyped) {
    const Outcome outcome = keepgraph({"run", "--stacks", "all", "--", fake_app(), "args", "--", "-x", "--stacks=none",
                                       "[a,b]", "++", "", "a b", "run", "%%", "'\"$HOME"});
    EXPECT_EQ(outcome.out, "[--]\n[-x]\n[--stacks=none]\n[[a,b]]\n[++]\n[]\n[a b]\n[run]\n[%%]\n['\"$HOME]\n")
        << outcome.describe();
}

TEST(Run, ShimComesFirstAndWhatWasThereStays) {
    EXPECT_EQ(variable(keepgraph({"run", "--", fake_app(), "env"}), "LD_PRELOAD"), shim());
    const std::string other = program("libfake_getxattr.so");
    EXPECT_EQ(variable(keepgraph({"run", "--", fake_app(), "env"}, {{"LD_PRELOAD", other}}), "LD_PRELOAD"),
              shim() + ":" + other);
}

TEST(Run, NothingIsPreloadedTwice) {
    const std::string other = program("libfake_getxattr.so");
    const Outcome outcome =
        keepgraph({"run", "--", fake_app(), "env"}, {{"LD_PRELOAD", other + " " + shim() + ":" + other}});
    EXPECT_EQ(variable(outcome, "LD_PRELOAD"), shim() + ":" + other) << outcome.describe();
    // A run inside a run.
    const Outcome nested = keepgraph({"run", "--", command_path(), "run", "--", fake_app(), "env"});
    EXPECT_EQ(variable(nested, "LD_PRELOAD"), shim()) << nested.describe();
}

TEST(Run, ShimOfKeepgraphLibIsTaken) {
    TempFolder folder;
    const std::string copy = copy_to(folder, shim(), "libkeepgraph_preload.so");
    EXPECT_EQ(variable(keepgraph({"run", "--", fake_app(), "env"}, {{"KEEPGRAPH_LIB", copy}}), "LD_PRELOAD"), copy);
    EXPECT_EQ(variable(keepgraph({"run", "--", fake_app(), "env"}, {{"KEEPGRAPH_LIB", folder.path()}}), "LD_PRELOAD"),
              copy);
    const Outcome missing = keepgraph({"run", "--", fake_app(), "env"}, {{"KEEPGRAPH_LIB", "/nowhere.so"}});
    EXPECT_TRUE(missing.ended_with(125)) << missing.describe();
    EXPECT_TRUE(contains(missing.err, "keepgraph: KEEPGRAPH_LIB=/nowhere.so is not allowed: there is no file "))
        << missing.describe();
    EXPECT_TRUE(contains(missing.err, "use the path of libkeepgraph_preload.so")) << missing.describe();
    EXPECT_EQ(missing.out, "");
}

TEST(Run, AFileThatIsNoShimIsRefused) {
    TempFolder folder;
    write_file(folder / "text", "text");
    const std::string other = program("libfake_getxattr.so");
    const std::string driver = preload_tests::double_folder() + "/libcuda.so.1";
    for (const std::string& file : {std::string("/bin/true"), folder / "text", other, driver, fake_app()}) {
        const Outcome outcome = keepgraph({"run", "--", fake_app(), "env"}, {{"KEEPGRAPH_LIB", file}});
        EXPECT_TRUE(outcome.ended_with(125)) << outcome.describe();
        EXPECT_TRUE(contains(outcome.err, "KEEPGRAPH_LIB=" + file + " is not allowed: ")) << outcome.describe();
        EXPECT_EQ(outcome.out, "");
    }
    const std::string renamed = copy_to(folder, shim(), "renamed.so");
    EXPECT_EQ(variable(keepgraph({"run", "--", fake_app(), "env"}, {{"KEEPGRAPH_LIB", renamed}}), "LD_PRELOAD"),
              renamed);
}

TEST(Run, ShimIsFoundInAnInstallTree) {
    for (const char* libraries : {"lib", "lib64"}) {
        TempFolder prefix;
        std::filesystem::create_directory(prefix / "bin");
        std::filesystem::create_directory(prefix / libraries);
        std::filesystem::copy_file(command_path(), prefix / "bin/keepgraph");
        std::filesystem::copy_file(shim(), prefix / (std::string(libraries) + "/libkeepgraph_preload.so"));
        preload_tests::Command command;
        command.args = {prefix / "bin/keepgraph", "run", "--", fake_app(), "env"};
        const Outcome outcome = preload_tests::run(command);
        EXPECT_EQ(variable(outcome, "LD_PRELOAD"), prefix / (std::string(libraries) + "/libkeepgraph_preload.so"))
            << outcome.describe();
    }
}

TEST(Run, WithoutAShimItSaysWhereItLooked) {
    TempFolder folder;
    const std::string alone = copy_to(folder, command_path(), "keepgraph");
    preload_tests::Command command;
    command.args = {alone, "run", "--", fake_app()};
    const Outcome outcome = preload_tests::run(command);
    EXPECT_TRUE(outcome.ended_with(125)) << outcome.describe();
    EXPECT_TRUE(contains(outcome.err, "libkeepgraph_preload.so is in none of")) << outcome.describe();
    EXPECT_TRUE(contains(outcome.err, "KEEPGRAPH_LIB")) << outcome.describe();
}

TEST(Run, ShimInAFolderWithABlankIsRefused) {
    TempFolder folder;
    std::filesystem::create_directory(folder / "a b");
    const std::string copy = copy_to(folder, shim(), "a b/libkeepgraph_preload.so");
    const Outcome outcome = keepgraph({"run", "--", fake_app()}, {{"KEEPGRAPH_LIB", copy}});
    EXPECT_TRUE(outcome.ended_with(125)) << outcome.describe();
    EXPECT_TRUE(contains(outcome.err, "LD_PRELOAD cannot hold")) << outcome.describe();
}

TEST(Run, EachSettingHasAFlag) {
    const std::map<std::string, std::string> values{
        {"CHECK", "off"},   {"ON_FINDING", "refuse:certain"}, {"KEEP", "off"}, {"OUT", "/tmp/%p"}, {"WRITE", "graphs"},
        {"STACKS", "none"}, {"OPTIONS", "quiet=1"},
    };
    for (const config::Row& row : config::settings_table()) {
        ASSERT_TRUE(values.count(row.name)) << row.name << " has no value in this test";
        const std::string value = values.at(row.name);
        const Outcome outcome = keepgraph({"run", "--" + config::flag_name(row), value, "--", fake_app(), "env"},
                                          {{config::variable_name(row), "was set before"}});
        EXPECT_EQ(variable(outcome, config::variable_name(row)), value) << outcome.describe();
        const Outcome joined = keepgraph({"run", "--" + config::flag_name(row) + "=" + value, "--", fake_app(), "env"});
        EXPECT_EQ(variable(joined, config::variable_name(row)), value) << joined.describe();
    }
}

TEST(Run, BadValueNamesFlagValueAndWhatIsAllowed) {
    for (const config::Row& row : config::settings_table()) {
        const std::string flag = "--" + config::flag_name(row);
        const std::string bad = std::string(row.name) == "OUT" ? "x%q" : "explode";
        const Outcome outcome = keepgraph({"run", flag, bad, "--", fake_app()});
        EXPECT_TRUE(outcome.ended_with(2)) << outcome.describe();
        EXPECT_TRUE(contains(outcome.err, flag + ": " + bad + " is not allowed: use " + row.allowed))
            << outcome.describe();
    }
}

TEST(Run, EmptyFlagSwitchesASettingOff) {
    const Outcome outcome = keepgraph({"run", "--out", "", "--", fake_app(), "env"}, {{"KEEPGRAPH_OUT", "/x"}});
    EXPECT_TRUE(contains(outcome.out, "KEEPGRAPH_OUT=\n")) << outcome.describe();
}

TEST(Run, VariablesThatAreSetStay) {
    const Outcome outcome = keepgraph({"run", "--check", "off", "--", fake_app(), "env"},
                                      {{"KEEPGRAPH_STACKS", "none"}, {"KEEPGRAPH_OUT", "mine-%p"}});
    EXPECT_EQ(variable(outcome, "KEEPGRAPH_STACKS"), "none") << outcome.describe();
    EXPECT_EQ(variable(outcome, "KEEPGRAPH_OUT"), "mine-%p") << outcome.describe();
    EXPECT_EQ(variable(outcome, "KEEPGRAPH_CHECK"), "off") << outcome.describe();
}

TEST(Run, OutIsMeantWhereTheCommandWasTyped) {
    TempFolder folder;
    const std::string odd = folder / "50%";
    std::filesystem::create_directory(odd);
    const std::string here = folder.path() + "/50%%/";
    EXPECT_EQ(variable(keepgraph({"run", "--", fake_app(), "env"}, {}, odd), "KEEPGRAPH_OUT"),
              here + "keepgraph-out/%t-%h-%p");
    EXPECT_EQ(variable(keepgraph({"run", "--out", "rec/%p", "--", fake_app(), "env"}, {}, odd), "KEEPGRAPH_OUT"),
              here + "rec/%p");
    // The command itself makes nothing: the shim does, at the first graph.
    EXPECT_TRUE(std::filesystem::is_empty(odd));
}

TEST(Run, NoProgramIsAUsageError) {
    for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{{"run"}, {"run", "--"}}) {
        const Outcome outcome = keepgraph(words);
        EXPECT_TRUE(outcome.ended_with(2)) << outcome.describe();
        EXPECT_TRUE(contains(outcome.err, "usage: keepgraph run [options] -- PROGRAM")) << outcome.describe();
        EXPECT_EQ(outcome.out, "");
    }
    EXPECT_TRUE(keepgraph({"run", "--no-such-flag", "x", "--", fake_app()}).ended_with(2));
    EXPECT_TRUE(keepgraph({"run", fake_app()}).ended_with(2));  // the -- is missing
    EXPECT_TRUE(keepgraph({}).ended_with(2));
    EXPECT_TRUE(keepgraph({"no-such-command"}).ended_with(2));
}

TEST(Run, NotFoundAndNotExecutable) {
    TempFolder folder;
    write_file(folder / "text", "hello");
    const std::vector<std::pair<std::string, int>> cases{
        {"/no/such/program", 127}, {"no-such-program", 127},     {"", 127},    {folder / "text", 126},
        {folder.path(), 126},      {folder / "text/below", 127}, {"text", 126}};
    for (const auto& [name, code] : cases) {
        const Outcome outcome = keepgraph({"run", "--", name}, {{"PATH", folder.path()}});
        EXPECT_TRUE(outcome.ended_with(code)) << name << ": " << outcome.describe();
        EXPECT_TRUE(contains(outcome.err, "keepgraph: cannot run " + name)) << outcome.describe();
    }
}

TEST(Run, PathIsSearchedAsExecvpDoes) {
    TempFolder folder;
    std::filesystem::create_directory(folder / "first");
    std::filesystem::create_directory(folder / "second");
    write_file(folder / "first/app", "not executable");
    const std::string app = copy_to(folder, fake_app(), "second/app");
    const std::string path = "/nowhere:" + folder.path() + "/first:" + folder.path() + "/second";
    const Outcome outcome = keepgraph({"run", "--", "app", "args", "x"}, {{"PATH", path}});
    EXPECT_EQ(outcome.out, "[x]\n") << outcome.describe();
    // An empty entry is the current folder.
    const Outcome here = keepgraph({"run", "--", "app", "args", "y"}, {{"PATH", "/nowhere:"}}, folder / "second");
    EXPECT_EQ(here.out, "[y]\n") << here.describe();
}

void expect_refused(const std::string& path, const std::string& reason, const Environment& more = {},
                    const std::string& folder = "/") {
    const Outcome outcome = keepgraph({"run", "--", path}, more, folder);
    EXPECT_TRUE(outcome.ended_with(125)) << outcome.describe();
    EXPECT_TRUE(contains(outcome.err, path + ": " + reason)) << outcome.describe();
    EXPECT_EQ(outcome.out, "");
}

TEST(Run, RefusesSetuidAndSetgid) {
    TempFolder folder;
    expect_refused(copy_to(folder, fake_app(), "suid", 04755), "it is setuid");
    expect_refused(copy_to(folder, fake_app(), "sgid", 02755), "it is setgid");
}

TEST(Run, RefusesFileCapabilities) {
    TempFolder folder;
    const std::string app = copy_to(folder, fake_app(), "app-capable");
    expect_refused(app, "it has file capabilities", {{"LD_PRELOAD", program("libfake_getxattr.so")}});
    EXPECT_TRUE(keepgraph({"run", "--", app}).ended_with(0));
}

TEST(Run, RefusesStaticPrograms) {
    expect_refused(program("static_app"), "it is linked statically");
    expect_refused(program("static_pie_app"), "it is linked statically");
}

TEST(Run, RefusesOtherArchitectures) {
    TempFolder folder;
    const std::string good = preload_tests::read_file(fake_app());
    const auto changed = [&](const std::string& name, std::size_t at, char value) {
        std::string bytes = good;
        bytes[at] = value;
        write_file(folder / name, bytes);
        std::filesystem::permissions(folder / name, std::filesystem::perms(0755));
        return folder / name;
    };
    constexpr std::size_t machine = 18;
    expect_refused(changed("other_machine", machine, static_cast<char>(EM_S390)), "it is for machine 22, 64 bit");
    expect_refused(changed("other_class", EI_CLASS, ELFCLASS32), "it is for");
    expect_refused(changed("other_order", EI_DATA, good[EI_DATA] == ELFDATA2LSB ? ELFDATA2MSB : ELFDATA2LSB),
                   "it is for machine");
}

TEST(Run, RefusesAnOlderGlibc) {
    TempFolder folder;
    const std::string app = copy_to(folder, program("old_system_app"), "app");
    // A loader that finds the old library; only --list is asked of it.
    const std::string real_loader = cli::ElfFile::open(fake_app())->interpreter;
    const auto loader = [&](const std::string& libc) {
        std::filesystem::remove(folder / "old-loader");
        write_file(folder / "old-loader", "#!/bin/sh\n[ \"$1\" = --list ] || exit 99\nprintf '\\t%s\\n' '" + libc +
                                              "' '" + real_loader + " (0x00007f0000000000)'\n");
        std::filesystem::permissions(folder / "old-loader", std::filesystem::perms(0755));
    };
    loader("libc.so.6 => " + program("libold_libc.so") + " (0x00007f0000000000)");
    expect_refused(app, "the shim needs GLIBC_2.", {}, folder.path());
    const Outcome outcome = keepgraph({"run", "--", app}, {}, folder.path());
    EXPECT_TRUE(std::regex_search(outcome.err, std::regex("is not in .*libold_libc.so \\(which ends at GLIBC_2.17\\)")))
        << outcome.describe();
    loader("libc.so => /lib/ld-musl.so.1 (0x00007f0000000000)");
    expect_refused(app, "its loader ./old-loader finds no ", {}, folder.path());
}

TEST(Run, FollowsScripts) {
    TempFolder folder;
    const auto script = [&](const std::string& name, const std::string& text) {
        write_file(folder / name, text);
        std::filesystem::permissions(folder / name, std::filesystem::perms(0755));
        return folder / name;
    };
    const Outcome shell = keepgraph({"run", "--", script("shell", "#!/bin/sh\necho \"$1 $LD_PRELOAD\"\n"), "x"});
    EXPECT_EQ(shell.out, "x " + shim() + "\n") << shell.describe();
    const Outcome bare = keepgraph({"run", "--", script("bare", "echo \"$0 $1 $LD_PRELOAD\"\n"), "x"});
    EXPECT_EQ(bare.out, folder / "bare" + " x " + shim() + "\n") << bare.describe();
    const Outcome env = keepgraph({"run", "--", script("env", "#!/usr/bin/env sh\necho \"$LD_PRELOAD\"\n")});
    EXPECT_EQ(env.out, shim() + "\n") << env.describe();
    const Outcome nested = keepgraph({"run", "--", script("outer", "#!" + folder.path() + "/shell\n"), "y"});
    EXPECT_EQ(nested.out, folder / "outer" + " " + shim() + "\n") << nested.describe();

    // The interpreter is what is checked.
    const std::string suid = copy_to(folder, fake_app(), "suid", 04755);
    for (const std::string& line :
         {"#!" + suid, std::string("#!/usr/bin/env suid"), std::string("#! /usr/bin/env -S A=1 suid -x")}) {
        const Outcome outcome =
            keepgraph({"run", "--", script("checked", line + "\n")}, {{"PATH", folder.path() + ":/usr/bin:/bin"}});
        EXPECT_TRUE(outcome.ended_with(125)) << line << ": " << outcome.describe();
        EXPECT_TRUE(contains(outcome.err, suid + ": it is setuid")) << outcome.describe();
    }
    const Outcome gone = keepgraph({"run", "--", script("gone", "#!/no/such/interpreter\n")});
    EXPECT_TRUE(gone.ended_with(127)) << gone.describe();
    EXPECT_TRUE(contains(gone.err, "its interpreter /no/such/interpreter")) << gone.describe();
    const Outcome circle = keepgraph({"run", "--", script("circle", "#!" + folder.path() + "/circle\n")});
    EXPECT_TRUE(circle.ended_with(126)) << circle.describe();
}

TEST(Run, TakesALoaderAndLooksAtWhatItRuns) {
    TempFolder folder;
    const std::string loader = cli::ElfFile::open(fake_app())->interpreter;
    const Outcome outcome = keepgraph({"run", "--", loader, "--argv0", "x", fake_app(), "env", "exit", "3"});
    EXPECT_TRUE(outcome.ended_with(3)) << outcome.describe();
    EXPECT_EQ(variable(outcome, "LD_PRELOAD"), shim());
    EXPECT_EQ(outcome.err, "");
    // A program that is loaded is not executed: its setuid bit means nothing.
    const std::string suid = copy_to(folder, fake_app(), "suid", 04755);
    EXPECT_TRUE(keepgraph({"run", "--", loader, suid, "exit", "4"}).ended_with(4));
    const Outcome is_static = keepgraph({"run", "--", loader, "--inhibit-cache", program("static_app")});
    EXPECT_TRUE(is_static.ended_with(125)) << is_static.describe();
    EXPECT_TRUE(contains(is_static.err, program("static_app") + ": it is linked statically")) << is_static.describe();
    // Its libraries are those that this loader finds with these options.
    std::filesystem::copy_file(program("libold_libc.so"), folder / "libc.so.6");
    const Outcome old = keepgraph({"run", "--", loader, "--library-path", folder.path(), fake_app()});
    EXPECT_TRUE(old.ended_with(125)) << old.describe();
    EXPECT_TRUE(contains(old.err, fake_app() + ": the shim needs GLIBC_2.")) << old.describe();
    // A sanitizer's runtime goes first there too.
    EXPECT_TRUE(keepgraph({"run", "--", loader, program("sanitized_asan")}).ended_with(7));
    // What runs no program is passed on, and so is what the loader itself has to complain of.
    EXPECT_TRUE(contains(keepgraph({"run", "--", loader, "--list", fake_app()}).out, "libc.so.6 => "));
    EXPECT_TRUE(keepgraph({"run", "--", loader, "--verify", fake_app()}).ended_with(0));
    EXPECT_TRUE(contains(keepgraph({"run", "--", loader, "--version"}).out, "ld.so"));
    EXPECT_TRUE(contains(keepgraph({"run", "--", loader}).err, "missing program name"));
    EXPECT_TRUE(keepgraph({"run", "--", loader, "/no/such/program"}).ended_with(127));
    EXPECT_TRUE(contains(keepgraph({"doctor", loader}).out, "can be run"));
}

TEST(Run, WorkingDirectoryThatIsGoneCostsTheRecordingOnly) {
    const auto from_a_removed_folder = [](const std::string& options) {
        TempFolder folder;
        return by_shell("mkdir gone && cd gone && rmdir ../gone && exec " + command_path() + " run " + options +
                            " -- " + preload_tests::victim("freed_input_driver"),
                        folder.path());
    };
    const std::string reason = "the working directory cannot be named (No such file or directory)";
    for (const char* options : {"", "--out mine"}) {
        const Outcome outcome = from_a_removed_folder(options);
        EXPECT_TRUE(outcome.ended_with(0)) << outcome.describe();
        EXPECT_EQ(preload_tests::count_lines_with(split_lines(outcome.err), reason), 1u) << outcome.describe();
        EXPECT_TRUE(contains(outcome.err, "Findings are on stderr only")) << outcome.describe();
        EXPECT_TRUE(contains(outcome.err, "keepgraph: finding 1: graph 1")) << outcome.describe();
        const Outcome counted = from_a_removed_folder(std::string(options) + " --error-exitcode 9");
        EXPECT_TRUE(counted.ended_with(125)) << counted.describe();
        EXPECT_TRUE(contains(counted.err, "--error-exitcode needs a recording: ")) << counted.describe();
        EXPECT_TRUE(contains(counted.err, reason)) << counted.describe();
        EXPECT_EQ(counted.out, "");
    }
    TempFolder elsewhere;
    EXPECT_TRUE(from_a_removed_folder("--error-exitcode 9 --out " + elsewhere / "rec").ended_with(9));
    EXPECT_EQ(from_a_removed_folder("--out ''").err.find(reason), std::string::npos);
}

TEST(Run, SanitizerRuntimeComesFirst) {
    for (const char* name : {"asan", "tsan"}) {
        const std::string app = program(std::string("sanitized_") + name);
        const Outcome outcome = keepgraph({"run", "--", app});
        EXPECT_TRUE(outcome.ended_with(7)) << outcome.describe();
        EXPECT_EQ(outcome.out, "sum 2\n");
        EXPECT_EQ(outcome.err, "");
        const Outcome dynamic = keepgraph({"doctor", app});
        EXPECT_TRUE(contains(dynamic.out, std::string("lib") + name + ".so")) << dynamic.describe();
    }
    // What it spares the user: the program does not get as far as main.
    preload_tests::Command by_hand;
    by_hand.args = {program("sanitized_asan")};
    by_hand.env = {{"LD_PRELOAD", shim()}};
    EXPECT_EQ(preload_tests::run(by_hand).out, "");
}

TEST(Run, SanitizerOfAScriptsInterpreterComesFirst) {
    TempFolder folder;
    write_file(folder / "script", "#!" + program("sanitized_asan") + "\n");
    std::filesystem::permissions(folder / "script", std::filesystem::perms(0755));
    const Outcome outcome = keepgraph({"run", "--", folder / "script"});
    EXPECT_TRUE(outcome.ended_with(7)) << outcome.describe();
    EXPECT_EQ(outcome.out, "sum 3\n");  // the script's path is an argument
}

TEST(Run, SanitizerInsideTheProgramNeedsNothingFirst) {
    const Outcome outcome = keepgraph({"run", "--", program("sanitized_asan_inside")});
    EXPECT_TRUE(outcome.ended_with(7)) << outcome.describe();
    EXPECT_EQ(outcome.out, "sum 2\n");
    EXPECT_TRUE(contains(keepgraph({"doctor", program("sanitized_asan_inside")}).out, "has asan inside"));
}

TEST(Run, HelpListsEverySettingWithAllowedValuesAndDefault) {
    const Outcome outcome = keepgraph({"run", "--help"});
    EXPECT_TRUE(outcome.ended_with(0)) << outcome.describe();
    const std::string one_line = std::regex_replace(outcome.out, std::regex("\\s+"), " ");
    for (const config::Row& row : config::settings_table()) {
        EXPECT_TRUE(contains(outcome.out, "--" + config::flag_name(row) + " ")) << row.name;
        const std::string default_text = *row.default_text != '\0' ? row.default_text : "empty";
        EXPECT_TRUE(contains(one_line, std::string("Allowed: ") + row.allowed + ". Default: " + default_text + "."))
            << row.name << outcome.describe();
    }
    EXPECT_TRUE(contains(one_line, "keepgraph-out/%t-%h-%p")) << outcome.describe();
}

TEST(Run, HelpHasNoLeftoversOfTheParser) {
    for (const char* command : {"run", "env", "doctor", "show"}) {
        const Outcome help = keepgraph({command, "--help"});
        EXPECT_TRUE(help.ended_with(0)) << help.describe();
        for (const char* leftover : {"REQUIRED", "Needs:", ":{", "\n\n\n"}) {
            EXPECT_FALSE(contains(help.out, leftover)) << leftover << help.describe();
        }
        for (const std::string& line : split_lines(help.out)) {
            EXPECT_LE(line.size(), 100u) << line;
        }
    }
    EXPECT_TRUE(contains(keepgraph({"show", "--help"}).out, "  --dot FILE\n"));
    EXPECT_TRUE(contains(keepgraph({"env", "--help"}).out, "  --format FORMAT\n"));
}

TEST(Run, WhatStandsInPlaceOfTheCommandIsNamed) {
    for (const std::vector<std::string>& words :
         std::vector<std::vector<std::string>>{{"--bogus"}, {"-x"}, {"--", "run"}}) {
        const Outcome outcome = keepgraph(words);
        EXPECT_TRUE(outcome.ended_with(2)) << outcome.describe();
        EXPECT_TRUE(contains(outcome.err, "keepgraph: " + words[0] + " is no command; allowed are run, "))
            << outcome.describe();
    }
}

TEST(Run, OutputThatIsLostIsNoSuccess) {
    for (const char* words : {"env", "env --table", "doctor", "--help", "--version"}) {
        const Outcome outcome = by_shell("exec " + command_path() + " " + words + " >/dev/full");
        EXPECT_TRUE(outcome.ended_with(1)) << words << outcome.describe();
        EXPECT_TRUE(contains(outcome.err, "keepgraph: standard output: ")) << outcome.describe();
    }
}

TEST(Run, VersionAndHelpOfTheCommand) {
    EXPECT_TRUE(std::regex_match(keepgraph({"--version"}).out, std::regex("keepgraph [0-9]+\\.[0-9]+\\.[0-9]+\n")));
    const Outcome help = keepgraph({"--help"});
    EXPECT_TRUE(help.ended_with(0)) << help.describe();
    for (const char* part : {"run ", "env ", "doctor ", "keepgraph run -- ./app", "keepgraph env --table"}) {
        EXPECT_TRUE(contains(help.out, part)) << part << help.describe();
    }
}

}  // namespace
}  // namespace keepgraph::cli_tests
