// SPDX-License-Identifier: Apache-2.0
// Routes over libraries that come and go. The caller is generated code, so it is the first library in load order that
// has the function.
#include "../../preload/routes.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace keepgraph::preload {
namespace {

const std::string folder = KEEPGRAPH_ROUTE_TARGETS;
const std::string first_build = folder + "/libroute_target_a.so";
const std::string second_build = folder + "/libroute_target_b.so";
constexpr const char* name = "kg_route_probe";

struct Library {
    void* handle;
    explicit Library(const std::string& path) : handle(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {}
    ~Library() { close(); }
    void close() {
        if (handle != nullptr)
            dlclose(handle);
        handle = nullptr;
    }
    void* probe() const { return dlsym(handle, name); }
    const link_map* map() const { return static_cast<const link_map*>(handle); }
};

class Routing : public testing::Test {
  protected:
    int generated_code = 0;
    Routes routes;
    void* route() { return routes.function(name, &generated_code); }
};

TEST_F(Routing, FollowsALibraryThatComesAndGoes) {
    EXPECT_EQ(route(), nullptr);
    Library library(first_build);
    ASSERT_NE(library.handle, nullptr) << dlerror();
    EXPECT_EQ(route(), library.probe());
    EXPECT_EQ(route(), library.probe()) << "remembered";
    library.close();
    EXPECT_EQ(dlopen(first_build.c_str(), RTLD_NOW | RTLD_NOLOAD), nullptr) << "a route kept the library";
    EXPECT_EQ(route(), nullptr) << "a route outlived its library";
}

TEST_F(Routing, KnowsAnotherBuildInExactlyTheSamePlace) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "AddressSanitizer gives the loader's memory out again much later";
#endif
    Library first(first_build);
    ASSERT_NE(first.handle, nullptr) << dlerror();
    void* const before = route();
    ASSERT_EQ(before, first.probe());
    const Module place = module_of(before);
    first.close();
    Library second(second_build);
    ASSERT_NE(second.handle, nullptr) << dlerror();
    // What the test is about: nothing of the place tells the two apart.
    ASSERT_EQ(module_of(second.probe()), place);
    ASSERT_NE(second.probe(), before);
    EXPECT_EQ(route(), second.probe());
}

TEST_F(Routing, ThreadsAgreeWhileTheSlotIsWritten) {
    Library library(first_build);
    ASSERT_NE(library.handle, nullptr) << dlerror();
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([&] {
            for (int call = 0; call < 20000; ++call)
                wrong += route() != library.probe() ? 1 : 0;
        });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(wrong, 0);
}

TEST(Modules, TheStartIsTheProgramAndWhatItNeedsNotWhatCameLater) {
    Library library(first_build);
    ASSERT_NE(library.handle, nullptr) << dlerror();
    EXPECT_TRUE(is_of_start(_r_debug.r_map));
    EXPECT_TRUE(is_of_start(loaded_as("libc.so.6").map));
    EXPECT_FALSE(is_of_start(library.map()));
    EXPECT_EQ(loaded_as("libroute_target_a.so").map, library.map());
    EXPECT_TRUE(in_base_namespace(library.map()));
    void* const other = dlmopen(LM_ID_NEWLM, second_build.c_str(), RTLD_NOW);
    ASSERT_NE(other, nullptr) << dlerror();
    EXPECT_FALSE(in_base_namespace(static_cast<const link_map*>(other)));
    EXPECT_EQ(loaded_as("libroute_target_b.so").map, nullptr) << "another namespace is no scope of the program's";
    dlclose(other);
}

}  // namespace
}  // namespace keepgraph::preload
