// SPDX-License-Identifier: Apache-2.0
// Loaded objects: module map, symbol look-up, address texts, thread identity.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "trace/describe.h"
#include "trace/elf_symbols.h"
#include "trace/module_map.h"

namespace keepgraph::trace {
namespace {

// Part of glibc, so it is everywhere, and nothing links to it, so it comes and goes as the test wants.
constexpr const char* loadable = "libBrokenLocale.so.1";

const Module* find_module(const std::vector<Module>& modules, const std::string& part) {
    const auto it = std::find_if(modules.begin(), modules.end(),
                                 [&](const Module& module) { return module.path.find(part) != std::string::npos; });
    return it == modules.end() ? nullptr : &*it;
}

std::string main_program() {
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    return {path, static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

TEST(ModuleMapTest, FirstCallListsEverythingAndTheNextNothing) {
    ModuleMap map;
    const auto modules = map.refresh();
    EXPECT_TRUE(map.refresh().empty());

    const Module* program = find_module(modules, main_program());
    ASSERT_NE(program, nullptr);
    const auto code = reinterpret_cast<std::uintptr_t>(&main_program);
    EXPECT_LE(program->begin, code);
    EXPECT_GT(program->end, code);

    const Module* libc = find_module(modules, "libc.so.6");
    ASSERT_NE(libc, nullptr);
    EXPECT_EQ(libc->path[0], '/');
    EXPECT_EQ(libc->build_id.size(), 40u);  // distributions use SHA-1 build-ids
    EXPECT_EQ(libc->build_id.find_first_not_of("0123456789abcdef"), std::string::npos);
    link_map* map_of_libc = nullptr;
    void* handle = dlopen("libc.so.6", RTLD_NOLOAD | RTLD_LAZY);
    ASSERT_EQ(dlinfo(handle, RTLD_DI_LINKMAP, &map_of_libc), 0);
    EXPECT_EQ(libc->base, map_of_libc->l_addr);
    dlclose(handle);
}

TEST(ModuleMapTest, LeavesTheVdsoOut) {
    const std::uintptr_t vdso = getauxval(AT_SYSINFO_EHDR);
    ModuleMap map;
    for (const Module& module : map.refresh()) {
        EXPECT_FALSE(module.begin <= vdso && vdso < module.end) << module.path;
        EXPECT_LT(module.begin, module.end) << module.path;
    }
}

TEST(ModuleMapTest, TellsOfALibraryThatIsLoadedLater) {
    ModuleMap map;
    map.refresh();
    void* handle = dlopen(loadable, RTLD_NOW);
    ASSERT_NE(handle, nullptr) << dlerror();
    const auto modules = map.refresh();
    EXPECT_EQ(modules.size(), 1u);
    EXPECT_NE(find_module(modules, loadable), nullptr);
    dlclose(handle);
    EXPECT_TRUE(map.refresh().empty());
}

TEST(ModuleMapTest, ReloadedAtAnotherAddressIsNewAgain) {
    ModuleMap map;
    void* handle = dlopen(loadable, RTLD_NOW);
    ASSERT_NE(handle, nullptr) << dlerror();
    const Module before = *find_module(map.refresh(), loadable);
    dlclose(handle);
    // Take its place, so that the loader must choose another one.
    void* taken = mmap(reinterpret_cast<void*>(before.begin), before.end - before.begin, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    handle = dlopen(loadable, RTLD_NOW);
    ASSERT_NE(handle, nullptr) << dlerror();
    const auto modules = map.refresh();
    const Module* after = find_module(modules, loadable);
    ASSERT_NE(after, nullptr);
    EXPECT_NE(after->base, before.base);
    EXPECT_EQ(after->build_id, before.build_id);
    dlclose(handle);
    if (taken != MAP_FAILED) {
        munmap(taken, before.end - before.begin);
    }
}

TEST(ModuleMapTest, EachModuleIsToldOnceToConcurrentCallers) {
    ModuleMap map;
    std::vector<Module> lists[4];
    std::vector<std::thread> threads;
    for (auto& list : lists) {
        threads.emplace_back([&] { list = map.refresh(); });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    int tellers = 0;
    for (const auto& list : lists) {
        tellers += find_module(list, "libc.so.6") != nullptr ? 1 : 0;
    }
    EXPECT_EQ(tellers, 1);
}

TEST(ElfSymbolsTest, FindsWhatDlsymFinds) {
    for (const char* name : {"getpid", "environ", "_ZSt9terminatev", "pthread_self"}) {
        EXPECT_EQ(find_symbol(name), dlsym(RTLD_DEFAULT, name)) << name;
    }
}

TEST(ElfSymbolsTest, MissingSymbolIsNullAndLeavesDlerrorAlone) {
    dlerror();
    EXPECT_EQ(find_symbol("keepgraph_no_such_symbol"), nullptr);
    EXPECT_EQ(find_symbol(""), nullptr);
    EXPECT_EQ(dlerror(), nullptr);
}

TEST(ElfSymbolsTest, SeesLibrariesThatWereLoadedLocal) {
    // Also a part of glibc; its entry points are its own.
    void* handle = dlopen("libnss_compat.so.2", RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(handle, nullptr) << dlerror();
    EXPECT_EQ(find_symbol("_nss_compat_getpwnam_r"), dlsym(handle, "_nss_compat_getpwnam_r"));
    EXPECT_NE(find_symbol("_nss_compat_getpwnam_r"), nullptr);
    EXPECT_EQ(dlsym(RTLD_DEFAULT, "_nss_compat_getpwnam_r"), nullptr);
    dlclose(handle);
    EXPECT_EQ(find_symbol("_nss_compat_getpwnam_r"), nullptr);
}

TEST(ElfSymbolsTest, CountsLoadsAndUnloads) {
    const LoadCounts before = load_counts();
    EXPECT_EQ(load_counts(), before);
    dlclose(dlopen(loadable, RTLD_NOW));
    const LoadCounts after = load_counts();
    EXPECT_GT(after.adds, before.adds);
    EXPECT_GT(after.subs, before.subs);
}

TEST(DescribeTest, NamesAnExportedFunction) {
    const auto* function = static_cast<const char*>(dlsym(RTLD_DEFAULT, "getpid"));
    const std::string text = describe_address(function);
    EXPECT_NE(text.find("getpid+0x0 (libc.so.6)"), std::string::npos) << text;  // or an alias such as __getpid
}

TEST(DescribeTest, DemanglesAndGivesTheOffset) {
    const auto* function = static_cast<const char*>(dlsym(RTLD_DEFAULT, "_ZSt9terminatev"));
    const std::string text = describe_address(function + 1);
    EXPECT_EQ(text.rfind("std::terminate()+0x1 (libstdc++.so.6", 0), 0u) << text;
}

TEST(DescribeTest, ReturnAddressBelongsToTheCallBefore) {
    const auto* function = static_cast<const char*>(dlsym(RTLD_DEFAULT, "_ZSt9terminatev"));
    EXPECT_NE(describe_return_address(function).rfind("std::terminate", 0), 0u);
    EXPECT_EQ(describe_return_address(function + 1).rfind("std::terminate()+0x1", 0), 0u);
}

TEST(DescribeTest, OutsideEveryObjectIsTheNumber) {
    EXPECT_EQ(describe_address(reinterpret_cast<void*>(0x10)), "0x10");
    EXPECT_EQ(describe_return_address(nullptr), "0x0");
}

TEST(DescribeTest, FunctionWithoutExportedSymbolIsModuleAndOffset) {
    const std::string program = main_program();
    const std::string text = describe_address(reinterpret_cast<const void*>(&main_program));
    EXPECT_NE(text.find(program.substr(program.rfind('/') + 1) + "+0x"), std::string::npos) << text;
}

TEST(DescribeTest, LeavesErrnoAndDlerrorAlone) {
    dlerror();
    errno = 4711;
    describe_address(reinterpret_cast<void*>(0x10));
    describe_address(reinterpret_cast<void*>(&main_program));
    thread_name();
    EXPECT_EQ(errno, 4711);
    EXPECT_EQ(dlerror(), nullptr);
}

TEST(ThreadIdentityTest, IsTheKernels) {
    EXPECT_EQ(thread_id(), gettid());
    EXPECT_EQ(thread_id(), gettid());
    std::thread([] {
        EXPECT_EQ(thread_id(), gettid());
        pthread_setname_np(pthread_self(), "kg-worker");
        EXPECT_EQ(thread_name(), "kg-worker");
    }).join();
}

TEST(ThreadIdentityTest, IsRightInAForkedChild) {
    EXPECT_EQ(thread_id(), gettid());
    const pid_t child = fork();
    if (child == 0) {
        _exit(thread_id() == gettid() ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace keepgraph::trace
