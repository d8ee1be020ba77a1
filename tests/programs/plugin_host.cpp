// SPDX-License-Identifier: Apache-2.0
// plugin_host MODE LIBRARY...     loads each library and runs its plugin_run, in order
//   local, global, deepbind       how they are loaded: RTLD_LOCAL, RTLD_GLOBAL, RTLD_LOCAL | RTLD_DEEPBIND
//   close                         as local, and each is closed after its run; is libcuda still loaded then?
//   new_namespace                 by dlmopen, each in a namespace of its own
//   turns                         as local, and when all are loaded they run in turn, three times
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <vector>

int main(int argc, char** argv) {
    if (argc < 3) {
        std::printf("usage: plugin_host local|global|deepbind|close|new_namespace|turns LIBRARY...\n");
        return 2;
    }
    const char* mode = argv[1];
    const int flags = std::strcmp(mode, "global") == 0     ? RTLD_GLOBAL
                      : std::strcmp(mode, "deepbind") == 0 ? RTLD_LOCAL | RTLD_DEEPBIND
                                                           : RTLD_LOCAL;
    std::vector<int (*)()> loaded;
    for (int i = 2; i < argc; ++i) {
        const char* name = std::strrchr(argv[i], '/');
        name = name != nullptr ? name + 1 : argv[i];
        void* library = std::strcmp(mode, "new_namespace") == 0 ? dlmopen(LM_ID_NEWLM, argv[i], RTLD_NOW)
                                                                : dlopen(argv[i], RTLD_NOW | flags);
        if (library == nullptr) {
            std::printf("%s: not loaded\n%s\n", name, dlerror());
            return 3;
        }
        const auto run = reinterpret_cast<int (*)()>(dlsym(library, "plugin_run"));
        if (run == nullptr) {
            std::printf("%s: no plugin_run\n", name);
            return 3;
        }
        if (std::strcmp(mode, "turns") == 0) {
            loaded.push_back(run);
            continue;
        }
        std::printf("-- %s\n", name);
        std::fflush(stdout);
        std::printf("%s: %d\n", name, run());
        std::fflush(stdout);
        if (std::strcmp(mode, "close") == 0) {
            const int closed = dlclose(library);
            void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
            std::printf("%s: closed %d, libcuda is loaded: %d\n", name, closed, driver != nullptr);
            std::fflush(stdout);
            if (driver != nullptr)
                dlclose(driver);
        }
    }
    for (int round = 0; round < 3; ++round) {
        for (int (*run)() : loaded)
            std::printf("round %d: %d\n", round, run());
    }
    return 0;
}
