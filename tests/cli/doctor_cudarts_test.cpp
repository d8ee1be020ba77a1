// SPDX-License-Identifier: Apache-2.0
// keepgraph doctor on environments with several cudarts (F8): which one is loaded, and who says so.
#include "command.h"
#include "harness/packages.h"

namespace keepgraph::cli_tests {
namespace {

using namespace preload_tests::packages;
using Lines = std::vector<std::string>;

Outcome doctor(const std::string& program, const std::string& library_path) {
    return keepgraph({"doctor", program}, {{"LD_LIBRARY_PATH", library_path}});
}

TEST(CudartsOf, AModuleAreThoseThatItsLoaderFinds) {
    const Layout layout(true);
    const std::string torch = layout.driver() + ":" + (layout.folder / "lib/python3.11/site-packages/torch/lib");
    const std::string site = layout.folder / "lib/python3.11/site-packages/";
    struct Case {
        const char* module;
        std::string library_path;
        std::string cudart;
    };
    for (const Case& each :
         {Case{"wheel12", layout.driver(),
               "shared (libcudart.so.12), " + site +
                   "wheel12/../nvidia/cuda_runtime/lib/libcudart.so.12, by RUNPATH "
                   "from file " +
                   site + "wheel12/module.so"},
          Case{"wheel12", torch, "shared (libcudart.so.12), " + site + "torch/lib/libcudart.so.12, by LD_LIBRARY_PATH"},
          Case{"wheel13", torch,
               "shared (libcudart.so.13), " + site +
                   "wheel13/../nvidia/cu13/lib/libcudart.so.13, by RUNPATH from file " + site + "wheel13/module.so"},
          Case{"renamed", torch,
               "shared (libcudart-5e0c1a7b.so.12.1.105), " + site +
                   "renamed/../renamed.libs/libcudart-5e0c1a7b.so.12.1.105, by RUNPATH from file " + site +
                   "renamed/module.so"},
          // RPATH comes before LD_LIBRARY_PATH.
          Case{"conda12", torch,
               "shared (libcudart.so.12), " + site + "conda12/../../../libcudart.so.12, by RPATH from file " + site +
                   "conda12/module.so"}}) {
        const Outcome outcome = doctor(layout.folder / module(each.module), each.library_path);
        EXPECT_EQ(all_told(outcome, "cudart"), Lines{each.cudart}) << outcome.describe();
        EXPECT_TRUE(contains(told(outcome, "file"), ": shared library, ")) << outcome.describe();
        EXPECT_TRUE(contains(told(outcome, "seen by"), "and runtime door")) << outcome.describe();
        EXPECT_EQ(told(outcome, "verdict").rfind("a shared library: the program that loads it decides", 0), 0u)
            << outcome.describe();
        EXPECT_TRUE(outcome.ended_with(0)) << outcome.describe();
    }
}

TEST(CudartsOf, ALibraryThatMayBeExecutedAreToldToo) {
    const Layout layout(false);
    const std::string path = layout.folder / module("wheel13");
    std::filesystem::permissions(path, std::filesystem::perms(0755));
    const Outcome outcome = doctor(path, layout.driver());
    EXPECT_EQ(told(outcome, "cudart").rfind("shared (libcudart.so.13), ", 0), 0u) << outcome.describe();
    EXPECT_EQ(told(outcome, "verdict").rfind("a shared library: ", 0), 0u) << outcome.describe();
    EXPECT_TRUE(outcome.ended_with(0)) << outcome.describe();
}

TEST(CudartsOf, AProgramMayBeTwo) {
    const Layout layout(false);
    const std::string path = layout.folder / host("host_both");
    const std::string site = layout.folder / "lib/python3.11/site-packages/";
    const std::string by = ", by RUNPATH from file " + path;
    const Outcome outcome = doctor(path, layout.driver());
    EXPECT_EQ(all_told(outcome, "cudart"),
              (Lines{"shared (libcudart.so.12), " + site + "nvidia/cuda_runtime/lib/libcudart.so.12" + by,
                     "shared (libcudart.so.13), " + site + "nvidia/cu13/lib/libcudart.so.13" + by}))
        << outcome.describe();
    EXPECT_TRUE(contains(told(outcome, "note"), "more than one cudart: each call is seen")) << outcome.describe();
    EXPECT_EQ(told(outcome, "verdict"), "can be run: keepgraph run -- " + path);
    const Outcome one = doctor(layout.folder / host("host_renamed"), layout.driver());
    EXPECT_EQ(all_told(one, "cudart").size(), 1u) << one.describe();
    EXPECT_FALSE(contains(one.out, "more than one cudart")) << one.describe();
}

TEST(CudartsOf, AProgramThatDoesNotFindItsOwn) {
    // The renamed one: a GPU machine's loader may know others.
    const Layout layout(false);
    std::filesystem::remove(layout.folder / cudart_renamed);
    const Outcome outcome = doctor(layout.folder / host("host_renamed"), layout.driver());
    EXPECT_EQ(told(outcome, "cudart"), "shared (libcudart-5e0c1a7b.so.12.1.105), not found") << outcome.describe();
    EXPECT_EQ(told(outcome, "missing"), "libcudart-5e0c1a7b.so.12.1.105: the loader does not find it");
    EXPECT_TRUE(contains(told(outcome, "glibc"), "libc.so.6 (up to GLIBC_2.")) << "the others are not listed";
}

TEST(CudartsOf, PackagesOfAnInterpreterAreListed) {
    for (const bool conda : {false, true}) {
        const Layout layout(conda);
        std::filesystem::create_directory(layout.folder / "bin");
        std::filesystem::create_symlink(fake_app(), layout.folder / "bin/python3");
        Lines expected{layout.folder / cudart_of_torch, layout.folder / cudart13, layout.folder / cudart12,
                       layout.folder / cudart_renamed};
        if (conda) {
            expected.insert(expected.begin(), layout.folder / cudart_of_conda);
        }
        const Outcome outcome = doctor(layout.folder / "bin/python3", layout.driver());
        EXPECT_EQ(all_told(outcome, "package"), expected) << outcome.describe();
        EXPECT_EQ(told(outcome, "cudart"), "none linked") << outcome.describe();
        EXPECT_TRUE(contains(told(outcome, "note"), "modules of packages may load these")) << outcome.describe();
    }
    EXPECT_EQ(told(keepgraph({"doctor", fake_app()}), "package"), "");
}

}  // namespace
}  // namespace keepgraph::cli_tests
