// SPDX-License-Identifier: Apache-2.0
// Prints what a library can change behind a program's back: threads, descriptors, signal mask, umask, folder, locale,
// floating point, errno over each call, the capture mode of the thread, the environment. `state nofds` leaves the
// descriptors out, for runs that record.
#include <dirent.h>
#include <fenv.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <cstring>
#include <string>
#include <vector>

#include "scene.h"

extern char** environ;

namespace {

int count_entries(const char* folder) {
    DIR* stream = opendir(folder);
    int count = 0;
    while (readdir(stream) != nullptr)
        ++count;
    closedir(stream);
    return count;
}

void print_state(bool with_descriptors) {
    std::printf("tasks %d\n", count_entries("/proc/self/task") - 2);
    if (with_descriptors)
        std::printf("descriptors %d\n", count_entries("/proc/self/fd") - 2);
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    for (int number = 1; number < 65; ++number) {
        if (sigismember(&mask, number) == 1)
            std::printf("blocked %d\n", number);
    }
    mode_t old = umask(022);
    umask(old);
    std::printf("umask %o\n", old);
    std::printf("locale %s, rounding %d, exceptions %d\n", setlocale(LC_ALL, nullptr), fegetround(),
                fetestexcept(FE_DIVBYZERO));
    rlimit limit{};
    getrlimit(RLIMIT_STACK, &limit);
    std::printf("stack limit %lu\n", static_cast<unsigned long>(limit.rlim_cur));
    std::vector<std::string> names;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        std::string name(*variable, std::strcspn(*variable, "="));
        // What the harness itself sets to get the shim in.
        if (name != "LD_PRELOAD" && name.compare(0, 10, "KEEPGRAPH_") != 0)
            names.push_back(*variable);
    }
    std::sort(names.begin(), names.end());
    for (const std::string& name : names)
        std::printf("%s\n", name.c_str());
}

}  // namespace

int main(int argc, char** argv) {
    bool with_descriptors = argc < 2 || std::strcmp(argv[1], "nofds") != 0;
    umask(027);
    fesetround(FE_UPWARD);
    Scene scene;
    errno = 123;
    scene.open_with_graph();
    std::printf("errno after set-up %d\n", errno);
    auto over = [](const char* what, auto&& call) {
        errno = 77;
        int code = static_cast<int>(call());
        std::printf("%s: code %d, errno %d\n", what, code, errno);
    };
    CUdeviceptr spare = 0;
    over("cuMemAlloc", [&] { return scene.cu.alloc(&spare, 4096); });
    over("cuMemFree", [&] { return scene.cu.free(spare); });
    over("cuMemFree again", [&] { return scene.cu.free(spare); });
    over("cuGraphLaunch", [&] { return scene.cu.launch(scene.exec, scene.stream); });
    over("cuMemFree of an input", [&] { return scene.cu.free(scene.input); });
    over("cuGraphLaunch with a finding", [&] { return scene.cu.launch(scene.exec, scene.stream); });
    over("cuGraphLaunch of nothing", [&] { return scene.cu.launch(nullptr, scene.stream); });
    over("cuGraphExecDestroy", [&] { return scene.cu.exec_destroy(scene.exec); });
    over("dlsym of nothing", [&] { return dlsym(RTLD_DEFAULT, "keepgraph_has_no_such_symbol") == nullptr ? 0 : 1; });
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    scene.cu.exchange_mode(&mode);
    std::printf("capture mode of the thread %d\n", static_cast<int>(mode));
    print_state(with_descriptors);
    return 0;
}
