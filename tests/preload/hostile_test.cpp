// SPDX-License-Identifier: Apache-2.0
// Programs that do what real ones do to a library in their process: each must end as it does without the shim, at the
// default settings and with everything on, and the shim must still have seen what happened.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <regex>

#include "harness/on_double.h"
#include "harness/recording.h"

namespace keepgraph::preload_tests {
namespace {

size_t findings_in(const Outcome& outcome) {
    return count_lines_with(keepgraph_lines(outcome.err), "keepgraph: finding ");
}

/// A program, and what the shim must say of it: number of finding lines over all its processes, of last lines.
struct Expected {
    std::string command;
    size_t findings;
    size_t last_lines;
};

void PrintTo(const Expected& expected, std::ostream* stream) {
    *stream << expected.command;
}

class HostileProgram : public testing::TestWithParam<Expected> {
  protected:
    static size_t last_lines(const Outcome& outcome) {
        size_t count = 0;
        for (const std::string& line : keepgraph_lines(outcome.err))
            count += parse_summary(line).has_value();
        return count;
    }
};

TEST_P(HostileProgram, EndsAsBareAndIsSeen) {
    Outcome outcome = expect_transparent(program_line(GetParam().command));
    EXPECT_EQ(findings_in(outcome), GetParam().findings) << outcome.describe();
    EXPECT_EQ(last_lines(outcome), GetParam().last_lines) << outcome.describe();
}

TEST_P(HostileProgram, EndsAsBareWithEverythingOn) {
    TempFolder folder;
    std::vector<std::string> words = program_line(GetParam().command);
    // Its own descriptors are what the recording may add to.
    if (words[0] == hostile("state"))
        words.push_back("nofds");
    Outcome outcome = expect_transparent(words, everything_on(folder));
    EXPECT_EQ(findings_in(outcome), GetParam().findings) << outcome.describe();
}

std::vector<Expected> ends() {
    std::vector<Expected> list;
    for (const std::string form : {"shared", "static", "driver"}) {
        for (const char* way : {"return", "exit", "thread_exit", "pthread_exit", "static_destructor", "atexit",
                                "quick_exit", "at_quick_exit"})
            list.push_back({"exits_" + form + " " + way, 1, 1});
        // No library gets a word in after these: the finding is out already, the last line is not.
        for (const char* way : {"_exit", "abort", "sigkill", "sigterm", "sigsegv", "throw"})
            list.push_back({"exits_" + form + " " + way, 1, 0});
    }
    return list;
}

INSTANTIATE_TEST_SUITE_P(Ends, HostileProgram, testing::ValuesIn(ends()),
                         [](const auto& info) { return test_name(info.param.command); });

std::vector<Expected> forks() {
    std::vector<Expected> list;
    for (const std::string form : {"forks_shared ", "forks_driver "}) {
        for (const char* way : {"before", "exec", "vfork", "spawn"})
            list.push_back({form + way, 2, 2});
        // The child has nothing of its own to say, and the parent's counters are not its.
        for (const char* way : {"parent", "after"})
            list.push_back({form + way, 1, 1});
    }
    for (const char* way : {"abort", "frees", "threads", "_Fork", "clone"})
        list.push_back({std::string("forks_after ") + way, 1, 1});
    return list;
}

INSTANTIATE_TEST_SUITE_P(Forks, HostileProgram, testing::ValuesIn(forks()),
                         [](const auto& info) { return test_name(info.param.command); });

INSTANTIATE_TEST_SUITE_P(Habits, HostileProgram,
                         testing::Values(Expected{"signals", 1, 1}, Expected{"state", 1, 1},
                                         Expected{"small_stack", 1, 1}, Expected{"own_malloc", 1, 1},
                                         Expected{"moves nothing", 1, 1}, Expected{"moves chdir", 1, 1},
                                         Expected{"moves seccomp", 1, 1}, Expected{"moves rlimit", 1, 1},
                                         Expected{"moves setuid", 1, 1}, Expected{"cancel_shared", 1, 1},
                                         Expected{"cancel_driver", 1, 1}, Expected{"cancelled_calls launch", 0, 1},
                                         Expected{"cancelled_calls free", 0, 1}, Expected{"many_threads first", 0, 1},
                                         Expected{"many_threads launch", 0, 1}, Expected{"many_threads free", 1, 1}),
                         [](const auto& info) { return test_name(info.param.command); });

TEST(Hostile, NestedGraphsNeedNoMoreStackThanTheProgramHas) {
    // Without driver-dot, which lets the driver itself recurse.
    for (const char* write : {"none", "findings,graphs"}) {
        TempFolder folder;
        const Outcome outcome =
            expect_transparent({hostile("nested"), "100", "64"}, everything_on(folder).with("KEEPGRAPH_WRITE", write));
        EXPECT_TRUE(outcome.ended_with(0)) << outcome.describe();
        EXPECT_EQ(findings_in(outcome), 1u) << outcome.describe();
        const std::vector<Json> findings = Recording::only_one_in(folder.path()).findings();
        ASSERT_EQ(findings.size(), 1u);
        std::string path = "child#0";
        for (int level = 1; level < 100; ++level)
            path += "/child#0";
        EXPECT_EQ(findings[0].at("references").at(0).at("path"), path);
    }
}

TEST(Hostile, EveryLaunchOf64ThreadsIsCounted) {
    Outcome outcome = run_on_double({hostile("many_threads"), "launch"});
    auto summary = summary_of(outcome);
    ASSERT_TRUE(summary) << outcome.describe();
    EXPECT_EQ(summary->graphs, 65);
    EXPECT_EQ(summary->replays, 64 * 50 * 2 + 1);
    EXPECT_EQ(summary->inputs, 65 * 2);
    EXPECT_EQ(summary->findings, 0);
}

TEST(Hostile, FirstUseByEightThreadsLosesNothing) {
    for (int round = 0; round < 10; ++round) {
        Outcome outcome = run_on_double({hostile("many_threads"), "first"});
        auto summary = summary_of(outcome);
        ASSERT_TRUE(summary) << outcome.describe();
        EXPECT_EQ(summary->graphs, 8);
        EXPECT_EQ(summary->replays, 8);
    }
}

class HostileDescriptors : public testing::TestWithParam<const char*> {};

TEST_P(HostileDescriptors, NothingIsWrittenIntoTheProgramsFile) {
    // Each run appends to a file of its own; the program compares what is in it with what it wrote.
    for (bool recording : {false, true}) {
        TempFolder folder;
        Conditions conditions = recording ? everything_on(folder) : Conditions{};
        Outcome bare = run_on_double({hostile("closes_fds"), GetParam(), folder / "bare"}, conditions.bare());
        Outcome shimmed = run_on_double({hostile("closes_fds"), GetParam(), folder / "own"}, conditions);
        EXPECT_TRUE(bare.ended_with(0)) << bare.describe();
        EXPECT_TRUE(shimmed.ended_with(0)) << "recording " << recording << ": " << shimmed.describe();
        EXPECT_EQ(bare.out, shimmed.out);
        EXPECT_EQ(read_file(folder / "own"), "first line of the program\nlast line of the program\n");
        EXPECT_EQ(findings_in(shimmed), 1u) << "the finding is on stderr whatever became of the recording";
    }
}

INSTANTIATE_TEST_SUITE_P(Ways, HostileDescriptors, testing::Values("close", "dup2"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Hostile, NoHomeNoPathNoEnvironment) {
    Conditions conditions;
    conditions.env = {{"HOME", std::nullopt}, {"PATH", std::nullopt}, {"LANG", std::nullopt}, {"LC_ALL", std::nullopt}};
    Outcome outcome = expect_transparent({hostile("inputs"), "1"}, conditions);
    EXPECT_EQ(findings_in(outcome), 1u) << outcome.describe();
}

TEST(Hostile, StderrIsClosedOrFull) {
    // Descriptor 2 closed: the program may get it for a file of its own, into which nothing must be written.
    TempFolder folder;
    std::string program = hostile("inputs");
    Outcome closed = run_on_double({"/bin/sh", "-c", "exec 2>&-; exec \"$0\" 1", program});
    Outcome closed_bare = run_on_double({"/bin/sh", "-c", "exec 2>&-; exec \"$0\" 1", program}, Conditions{}.bare());
    EXPECT_EQ(closed.out, closed_bare.out) << closed.describe();
    EXPECT_EQ(closed.exit_code, closed_bare.exit_code) << closed.describe();
    Outcome full = run_on_double({"/bin/sh", "-c", "exec \"$0\" 1 2>/dev/full", program});
    EXPECT_EQ(full.out, closed_bare.out) << full.describe();
    EXPECT_EQ(full.exit_code, closed_bare.exit_code) << full.describe();
}

TEST(HostileStderr, ReaderThatWentAwayDoesNotKillTheProgram) {
    // `./app 2>&1 >out | head -1`: SIGPIPE for a message of ours would end a program that writes nothing to stderr.
    for (const char* number : {"1", "12"}) {
        Outcome outcome =
            run_on_double({"/bin/bash", "-c", "{ sleep 0.2; \"$0\" $1; echo $? >&3; } 3>&1 1>/dev/null 2> >(exec true)",
                           hostile("inputs"), number});
        EXPECT_EQ(outcome.out, "0\n") << outcome.describe();
    }
}

// `./app 2> >(sleep 1000)`, and eight threads fill the pipe.
TEST(HostileStderr, BlockingPipeThatNobodyReadsHoldsNoThreadUp) {
    TempFolder folder;
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    ::fcntl(ends[1], F_SETFD, 0);
    const Outcome outcome =
        run_on_double({"/bin/bash", "-c", "exec \"$0\" 8 150 2>&" + std::to_string(ends[1]), hostile("mix")},
                      recorded(folder, "findings"));
    EXPECT_EQ(::fcntl(ends[1], F_GETFL) & O_NONBLOCK, 0) << "the program shares it with its parent";
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    std::string err;
    char part[65536];
    for (ssize_t size; (size = ::read(ends[0], part, sizeof part)) > 0;)
        err.append(part, static_cast<size_t>(size));
    ::close(ends[0]);
    ::close(ends[1]);
    ASSERT_TRUE(outcome.ended_with(0)) << outcome.describe();
    long graphs = 0, replays = 0, wrong = 0;
    ASSERT_EQ(std::sscanf(outcome.out.c_str(), "%ld graphs, %ld replays, %ld wrong", &graphs, &replays, &wrong), 3)
        << outcome.describe();
    const size_t said = count_lines_with(keepgraph_lines(err), "keepgraph: finding ");
    EXPECT_GT(said, 0u) << err;
    EXPECT_LT(said, static_cast<size_t>(wrong)) << "the pipe had room for all";
    const Recording recording = Recording::only_one_in(folder.path());
    EXPECT_EQ(recording.findings().size(), static_cast<size_t>(wrong));
    EXPECT_EQ(recording.of_type("summary").size(), 1u);
}

TEST(HostileDebugger, GdbRunsAndItsProgramToo) {
    if (!file_exists("/usr/bin/gdb"))
        GTEST_SKIP() << "no gdb";
    Conditions conditions;
    conditions.env = {{"HOME", "/"}};
    std::vector<std::string> args{
        "/usr/bin/gdb",         "-nx", "--batch", "-ex", "run", "-ex", "print $_exitcode", "--args",
        victim("exits_driver"), "exit"};
    auto without_numbers = [](const std::string& text) {
        return std::regex_replace(text, std::regex("[0-9]+|0x[0-9a-f]+"), "N");
    };
    Outcome bare = run_on_double(args, conditions.bare());
    Outcome shimmed = run_on_double(args, conditions);
    EXPECT_EQ(without_numbers(bare.out), without_numbers(shimmed.out)) << shimmed.describe();
    EXPECT_EQ(bare.exit_code, shimmed.exit_code);
    EXPECT_NE(shimmed.out.find("$1 = 7"), std::string::npos) << "the program under gdb ended otherwise";
    EXPECT_EQ(findings_in(shimmed), 1u) << shimmed.describe();
}

// ---- plugins and other libraries of the same kind

struct Plugins {
    const char* name;
    const char* mode;
    std::vector<const char*> plugins;
    long findings;  // -1: not even a graph is seen, which README.md says of RTLD_DEEPBIND and dlmopen under Limits
};
void PrintTo(const Plugins& plugins, std::ostream* stream) {
    *stream << plugins.name;
}

class HostilePlugins : public testing::TestWithParam<Plugins> {};

TEST_P(HostilePlugins, EndAsBare) {
    const Plugins& parameter = GetParam();
    std::vector<std::string> args{victim("plugin_host"), parameter.mode};
    for (const char* plugin : parameter.plugins)
        args.push_back(victim(std::string("libplugin_") + plugin + ".so"));
    Outcome outcome = expect_transparent(args);
    EXPECT_TRUE(outcome.ended_with(0)) << outcome.describe();
    if (parameter.findings >= 0) {
        EXPECT_EQ(findings_in(outcome), static_cast<size_t>(parameter.findings)) << outcome.describe();
    } else {
        EXPECT_EQ(keepgraph_lines(outcome.err), std::vector<std::string>{}) << "a limit less: say so in README.md";
    }
    TempFolder folder;
    expect_transparent(args, everything_on(folder));
    EXPECT_EQ(recordings_in(folder.path()).size(), parameter.findings >= 0 ? 1u : 0u);
}

INSTANTIATE_TEST_SUITE_P(All, HostilePlugins,
                         testing::Values(Plugins{"local", "local", {"shared"}, 1},
                                         Plugins{"local_static", "local", {"static"}, 1},
                                         Plugins{"local_driver", "local", {"driver"}, 1},
                                         Plugins{"two_cudarts", "local", {"shared", "cudart12"}, 2},
                                         Plugins{"two_cudarts_reversed", "local", {"cudart12", "shared"}, 2},
                                         Plugins{"shared_and_static", "local", {"shared", "static"}, 2},
                                         Plugins{"all_four", "local", {"shared", "static", "driver", "cudart12"}, 4},
                                         Plugins{"global", "global", {"shared", "static"}, 2},
                                         Plugins{"unloaded", "close", {"shared", "static"}, 2},
                                         Plugins{"deepbind", "deepbind", {"shared"}, -1},
                                         Plugins{"deepbind_static", "deepbind", {"static"}, -1},
                                         Plugins{"deepbind_driver", "deepbind", {"driver"}, -1},
                                         Plugins{"new_namespace", "new_namespace", {"shared"}, -1},
                                         Plugins{"new_namespace_static", "new_namespace", {"static"}, -1},
                                         Plugins{"new_namespace_driver", "new_namespace", {"driver"}, -1},
                                         Plugins{"new_namespace_linked", "new_namespace", {"linked"}, -1},
                                         Plugins{"two_namespaces", "new_namespace", {"linked", "shared"}, -1}),
                         [](const auto& info) { return std::string(info.param.name); });

INSTANTIATE_TEST_SUITE_P(Doors, HostilePlugins,
                         testing::Values(
                             // A constructor waits for a thread while dlopen holds the loader's lock.
                             Plugins{"constructor", "local", {"shared", "constructor_shared"}, 2},
                             Plugins{"constructor_linked", "local", {"constructor_linked"}, 1},
                             // Unloaded with libcuda, and there again.
                             Plugins{"linked", "local", {"linked"}, 1},
                             Plugins{"linked_unloaded", "close", {"linked", "linked"}, 2},
                             Plugins{"linked_after_another", "close", {"linked", "driver", "linked", "shared"}, 4}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(HostileLoader, LinkedDriverGoesWithItsPlugin) {
    // Whoever holds a reference keeps the library that the program closed; the program says what is left after each.
    for (const int times : {1, 2}) {
        std::vector<std::string> args{victim("plugin_host"), "close"};
        args.insert(args.end(), static_cast<size_t>(times), victim("libplugin_linked.so"));
        const Outcome outcome = expect_transparent(args);
        EXPECT_EQ(count_lines_with(split_lines(outcome.out), "closed 0, libcuda is loaded: 0"),
                  static_cast<size_t>(times))
            << outcome.describe();
        EXPECT_EQ(findings_in(outcome), static_cast<size_t>(times)) << outcome.describe();
    }
}

struct Cudarts {
    const char* name;
    const char* mode;
    std::vector<const char*> plugins;
};

class HostileCudarts : public testing::TestWithParam<Cudarts> {};

TEST_P(HostileCudarts, CallsReachThePluginsOwn) {
    std::vector<std::string> args{victim("plugin_host"), GetParam().mode};
    for (const char* plugin : GetParam().plugins)
        args.push_back(victim(std::string("libown_cudart") + plugin + ".so"));
    const Outcome outcome = expect_transparent(args);
    EXPECT_TRUE(outcome.ended_with(0)) << outcome.describe();
    EXPECT_NE(outcome.out.find("too large: 2, last error 2"), std::string::npos) << outcome.describe();
}

INSTANTIATE_TEST_SUITE_P(All, HostileCudarts,
                         testing::Values(Cudarts{"in_turn", "turns", {"13", "12", "_indirect"}},
                                         Cudarts{"closed", "close", {"13", "13", "_indirect", "_indirect"}},
                                         // Another in its place, which may lie exactly where the first one lay.
                                         Cudarts{"another_after", "close", {"13", "12", "13", "_indirect", "12"}}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(HostileLoader, ConstructorWaitsForAThread) {
    for (const char* form : {"shared", "static", "linked"}) {
        const std::string program = victim(std::string("loader_lock_") + form);
        Conditions conditions;
        conditions.timeout = std::chrono::seconds(10);
        for (const bool used : {false, true}) {
            std::vector<std::string> args{program, victim("libloader_lock_plugin.so")};
            if (used)
                args.emplace_back("used");
            const Outcome outcome = expect_transparent(args, conditions);
            EXPECT_TRUE(outcome.ended_with(0)) << form << (used ? " used: " : ": ") << outcome.describe();
        }
    }
}

TEST(Hostile, ChainOfTwoPreloadsInBothOrders) {
    std::string other = victim("libcounting_preload.so");
    for (const char* program :
         {"freed_input_shared", "freed_input_linked", "freed_input_driver", "freed_input_static"}) {
        Conditions before;
        before.env = {{"COUNTING_PRELOAD_PRINT", "1"}};
        before.preload_before = {other};
        Conditions after = before;
        after.preload_before = {};
        after.preload_after = {other};
        // Bare is the other preload alone: it must count the same calls.
        Outcome first = expect_transparent({victim(program)}, before);
        Outcome second = expect_transparent({victim(program)}, after);
        EXPECT_NE(first.err.find("counting_preload: "), std::string::npos) << "the other preload was not loaded";
        EXPECT_EQ(findings_in(first), 1u) << program << ", other preload first: " << first.describe();
        EXPECT_EQ(findings_in(second), 1u) << program << ", shim first: " << second.describe();
    }
}

// ---- sanitized programs. Their runtime must come first (`keepgraph run` sees to it; here it is done by hand).

std::string sanitizer_library(const std::string& program, const std::string& name) {
    for (const std::string& line : lines_of({"ldd", hostile(program)})) {
        size_t start = line.find("=> ");
        if (line.find(name) != std::string::npos && start != std::string::npos) {
            return line.substr(start + 3, line.find(' ', start + 3) - start - 3);
        }
    }
    return "";
}

void expect_sanitized_program_runs(const std::string& program, const std::string& runtime) {
    if (!file_exists(hostile(program)))
        GTEST_SKIP() << "this compiler has no " << runtime;
    Conditions conditions;
    std::string library = sanitizer_library(program, runtime);
    if (!library.empty())
        conditions.preload_before = {library};
    conditions.env = {{"ASAN_OPTIONS", "detect_leaks=0"}};
    Outcome outcome = expect_transparent({hostile(program), "1"}, conditions);
    EXPECT_TRUE(outcome.ended_with(0)) << outcome.describe();
    EXPECT_EQ(findings_in(outcome), 1u) << outcome.describe();
}

TEST(HostileSanitizer, AddressSanitizerProgram) {
    expect_sanitized_program_runs("inputs_asan", "libasan");
}
TEST(HostileSanitizer, ThreadSanitizerProgram) {
    expect_sanitized_program_runs("inputs_tsan", "libtsan");
}
TEST(HostileSanitizer, UndefinedBehaviourSanitizerProgram) {
    expect_sanitized_program_runs("inputs_ubsan", "libubsan");
}

}  // namespace
}  // namespace keepgraph::preload_tests
