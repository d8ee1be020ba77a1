// SPDX-License-Identifier: Apache-2.0
// keepgraph doctor.
#include "command.h"

namespace keepgraph::cli_tests {
namespace {

Environment on_double() {
    return {{"LD_LIBRARY_PATH", preload_tests::double_folder() + ":" + preload_tests::double_folder() + "/cudart"}};
}

TEST(Doctor, TellsOfThisMachine) {
    const Outcome outcome = keepgraph({"doctor"}, on_double());
    EXPECT_TRUE(outcome.ended_with(0)) << outcome.describe();
    EXPECT_EQ(told(outcome, "shim"), shim() + " (loads into /bin/true)");
    EXPECT_EQ(told(outcome, "driver"), preload_tests::double_folder() + "/libcuda.so.1, for CUDA 13.0");
    EXPECT_TRUE(contains(told(outcome, "CUPTI"), "keepgraph works with and without")) << outcome.describe();
    EXPECT_EQ(told(outcome, "verdict"), "");
}

TEST(Doctor, ShimThatDoesNotLoadIsSaid) {
    TempFolder folder;
    std::string bytes = preload_tests::read_file(shim());
    const std::string libc = "libc.so.6";
    ASSERT_NE(bytes.find(libc), std::string::npos);
    for (std::size_t at = 0; (at = bytes.find(libc, at)) != std::string::npos;) {
        bytes.replace(at, libc.size(), "libX.so.6");
    }
    write_file(folder / "libkeepgraph_preload.so", bytes);
    const Outcome outcome = keepgraph({"doctor"}, {{"KEEPGRAPH_LIB", folder.path()}});
    EXPECT_TRUE(outcome.ended_with(1)) << outcome.describe();
    EXPECT_TRUE(contains(told(outcome, "shim"), "does not load")) << outcome.describe();
    const Outcome none = keepgraph({"doctor"}, {{"KEEPGRAPH_LIB", "/nowhere"}});
    EXPECT_TRUE(none.ended_with(1)) << none.describe();
    EXPECT_TRUE(contains(told(none, "shim"), "KEEPGRAPH_LIB=/nowhere is not allowed")) << none.describe();
}

TEST(Doctor, NoDriverIsNoFailure) {
    // A libcuda.so.1 that is none: the real one of a GPU machine must not be found instead.
    TempFolder folder;
    copy_to(folder, program("libold_libc.so"), "libcuda.so.1");
    const Outcome outcome = keepgraph({"doctor"}, {{"LD_LIBRARY_PATH", folder.path()}});
    EXPECT_TRUE(outcome.ended_with(0)) << outcome.describe();
    EXPECT_TRUE(contains(told(outcome, "driver"), "does not tell its version")) << outcome.describe();
}

TEST(Doctor, HowCudartIsLinkedAndWhatWillBeSeen) {
    struct Case {
        const char* name;
        const char* cudart;
        const char* libcuda;
        const char* seen;
    };
    for (const Case& each : {Case{"freed_input_shared", "shared (libcudart.so.13)", "not linked", "and runtime door"},
                             Case{"freed_input_static", "static, inside ", "not linked", "go past the runtime door"},
                             Case{"freed_input_driver", "none linked", "not linked", "dlopen"},
                             Case{"freed_input_linked", "none linked", "linked (libcuda.so.1)", "driver door"}}) {
        const std::string path = preload_tests::victim(each.name);
        const Outcome outcome = keepgraph({"doctor", path}, on_double());
        EXPECT_TRUE(outcome.ended_with(0)) << outcome.describe();
        EXPECT_EQ(told(outcome, "cudart").rfind(each.cudart, 0), 0u) << outcome.describe();
        EXPECT_EQ(told(outcome, "libcuda"), each.libcuda) << outcome.describe();
        EXPECT_TRUE(contains(told(outcome, "seen by"), each.seen)) << outcome.describe();
        EXPECT_EQ(told(outcome, "verdict"), "can be run: keepgraph run -- " + path) << outcome.describe();
    }
    EXPECT_TRUE(
        contains(keepgraph({"doctor", preload_tests::victim("plugin_host")}, on_double()).out, "RTLD_DEEPBIND"));
    EXPECT_TRUE(contains(keepgraph({"doctor", preload_tests::victim("plugin_host")}, on_double()).out,
                         "calls dlmopen: a library in a namespace of its own has no shim in it"));
}

TEST(Doctor, KindsOfFilesAndVerdicts) {
    const Outcome dynamic = keepgraph({"doctor", fake_app()});
    EXPECT_TRUE(contains(told(dynamic, "file"), "dynamic program")) << dynamic.describe();
    EXPECT_NE(told(dynamic, "loader"), "");
    EXPECT_TRUE(contains(told(dynamic, "glibc"), "libc.so.6 (up to GLIBC_2.")) << dynamic.describe();

    const Outcome fixed = keepgraph({"doctor", program("static_app")});
    EXPECT_TRUE(fixed.ended_with(1)) << fixed.describe();
    EXPECT_TRUE(contains(told(fixed, "file"), ": static program")) << fixed.describe();
    EXPECT_TRUE(contains(told(fixed, "verdict"), "cannot be run: ")) << fixed.describe();
    const Outcome pie = keepgraph({"doctor", program("static_pie_app")});
    EXPECT_TRUE(contains(told(pie, "file"), ": static-pie program")) << pie.describe();
    EXPECT_TRUE(pie.ended_with(1)) << pie.describe();

    TempFolder folder;
    EXPECT_TRUE(keepgraph({"doctor", copy_to(folder, fake_app(), "suid", 04755)}).ended_with(1));
    EXPECT_TRUE(keepgraph({"doctor", "/no/such/program"}).ended_with(1));
    write_file(folder / "script", "#!/bin/sh\n");
    std::filesystem::permissions(folder / "script", std::filesystem::perms(0755));
    const Outcome script = keepgraph({"doctor", folder / "script"});
    EXPECT_EQ(told(script, "script"), folder / "script") << script.describe();
    EXPECT_EQ(told(script, "file").rfind("/bin/sh: ", 0), 0u) << script.describe();
}

TEST(Doctor, ALibraryIsNoFailedProgram) {
    TempFolder folder;
    for (const unsigned mode : {0644u, 0755u}) {
        const std::string copy = copy_to(folder, shim(), "shim" + std::to_string(mode) + ".so", mode);
        const Outcome outcome = keepgraph({"doctor", copy}, on_double());
        EXPECT_TRUE(outcome.ended_with(0)) << outcome.describe();
        EXPECT_EQ(told(outcome, "verdict"), "keepgraph's own shim: keepgraph run preloads it");
        // It holds cudart's error names and opens the driver, as a cudart does.
        EXPECT_EQ(told(outcome, "cudart"), "none linked") << outcome.describe();
    }
    const std::string plain = copy_to(folder, program("libfake_getxattr.so"), "plain.so", 0644);
    const Outcome outcome = keepgraph({"doctor", plain});
    EXPECT_TRUE(outcome.ended_with(0)) << outcome.describe();
    EXPECT_TRUE(contains(told(outcome, "file"), ": shared library, ")) << outcome.describe();
    EXPECT_TRUE(contains(told(outcome, "verdict"), "a shared library: ")) << outcome.describe();
    // Nobody can load one of another machine; e_machine is the halfword at 18.
    std::string bytes = preload_tests::read_file(plain);
    bytes.replace(18, 2, std::string("\xf3\0", 2));
    write_file(folder / "foreign.so", bytes);
    const Outcome foreign = keepgraph({"doctor", folder / "foreign.so"});
    EXPECT_TRUE(foreign.ended_with(1)) << foreign.describe();
    EXPECT_TRUE(contains(told(foreign, "verdict"), "that no program under the shim can load: it is for "))
        << foreign.describe();
    // To run one is refused as before.
    EXPECT_TRUE(keepgraph({"run", "--", plain}).ended_with(126));
}

TEST(Doctor, OtherToolsInTheEnvironmentAreNamed) {
    for (const char* name : {"LD_AUDIT", "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"}) {
        const Outcome outcome = keepgraph({"doctor"}, {{name, "/some/tool.so"}});
        EXPECT_TRUE(contains(told(outcome, "note"), std::string(name) + "=/some/tool.so: ")) << outcome.describe();
    }
    EXPECT_EQ(told(keepgraph({"doctor"}), "note"), "");
}

TEST(Doctor, CoverageRunsTheProgramAndPrintsTheEvent) {
    TempFolder folder;
    const Environment temporary{{"TMPDIR", folder.path()}, {"KEEPGRAPH_OPTIONS", "quiet=1"}};
    const Outcome outcome =
        keepgraph({"doctor", "--coverage", "--", fake_app(), "env", "coverage", "exit", "3"}, temporary);
    EXPECT_TRUE(outcome.ended_with(0)) << outcome.describe();
    EXPECT_EQ(variable(outcome, "KEEPGRAPH_OPTIONS"), "quiet=1,coverage=1,quiet=1");
    EXPECT_EQ(variable(outcome, "KEEPGRAPH_OUT").rfind(folder.path(), 0), 0u);
    EXPECT_EQ(variable(outcome, "LD_PRELOAD"), shim());
    EXPECT_EQ(told(outcome, "program"), "ended with exit code 3");
    EXPECT_EQ(told(outcome, "coverage"), "1 process; look-ups handed out 2 driver functions with a wrapper, 1 without");
    EXPECT_EQ(all_told(outcome, "wrapped"), (std::vector<std::string>{"cuGraphLaunch", "cuMemFree_v2"}));
    EXPECT_EQ(all_told(outcome, "unwrapped"), std::vector<std::string>{"cuInit"});
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Doctor, CoverageTakesAProgramWithoutArgumentsBeforeTheDashes) {
    TempFolder folder;
    const Environment temporary{{"TMPDIR", folder.path()}};
    const Outcome outcome = keepgraph({"doctor", "--coverage", fake_app()}, temporary);
    EXPECT_EQ(told(outcome, "program"), "ended with exit code 0") << outcome.describe();
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"doctor", fake_app(), "--", "/bin/true"},
          std::vector<std::string>{"doctor", "--coverage", fake_app(), "--", "/bin/true"}}) {
        const Outcome two = keepgraph(words, temporary);
        EXPECT_TRUE(two.ended_with(2)) << two.describe();
        EXPECT_TRUE(contains(two.err, "two programs are given: " + fake_app() + ", and /bin/true")) << two.describe();
    }
}

TEST(Doctor, CoverageOfAProgramThatDoesNotTell) {
    const Outcome nothing = keepgraph({"doctor", "--coverage", "--", fake_app()});
    EXPECT_TRUE(nothing.ended_with(1)) << nothing.describe();
    EXPECT_TRUE(contains(told(nothing, "coverage"), "no process made a recording")) << nothing.describe();
    const Outcome killed = keepgraph({"doctor", "--coverage", "--", fake_app(), "no-finding", "raise", "9"});
    EXPECT_TRUE(killed.ended_with(1)) << killed.describe();
    EXPECT_TRUE(contains(told(killed, "coverage"), "ended in order")) << killed.describe();
    EXPECT_EQ(told(killed, "program"), "ended by signal 9");
    EXPECT_TRUE(keepgraph({"doctor", "--coverage"}).ended_with(2));
    EXPECT_TRUE(keepgraph({"doctor", "--coverage", "--", "/no/such"}).ended_with(127));
}

TEST(Doctor, CoverageWithoutAPlaceForItsRecordingSaysWhichPlace) {
    for (const auto& [place, text] :
         {std::pair{"/no/such", "TMPDIR=/no/such cannot hold a temporary folder: No such file or directory"},
          std::pair{"/proc/self", "cannot make the folder /proc/self/keepgraph-"}}) {
        const Outcome outcome = keepgraph({"doctor", "--coverage", fake_app()}, {{"TMPDIR", place}});
        EXPECT_TRUE(outcome.ended_with(125)) << outcome.describe();
        EXPECT_EQ(outcome.err.rfind(std::string("keepgraph: ") + text, 0), 0u) << outcome.describe();
        EXPECT_FALSE(contains(outcome.err, "filesystem error")) << outcome.describe();
    }
}

TEST(Doctor, AnEmptyNameIsAProgramThatIsNotThere) {
    // As from `keepgraph doctor "$APP"` with a variable that is not set.
    for (const std::vector<std::string>& words :
         std::vector<std::vector<std::string>>{{"doctor", ""}, {"doctor", "--", ""}}) {
        const Outcome outcome = keepgraph(words);
        EXPECT_TRUE(outcome.ended_with(1)) << outcome.describe();
        EXPECT_TRUE(contains(outcome.out, "cannot be run: an empty name: not found")) << outcome.describe();
    }
    EXPECT_TRUE(keepgraph({"doctor", "--coverage", ""}).ended_with(127));
}

}  // namespace
}  // namespace keepgraph::cli_tests
