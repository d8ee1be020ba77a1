// SPDX-License-Identifier: Apache-2.0
// host WHAT...    opens each in order, then the first module captures a graph and the last one frees its input
//   global:FILE   a library that is opened for everybody, RTLD_GLOBAL, as packages do that look for cudart themselves
//   FILE          a module (module.cpp), opened as Python opens one
// Nothing of CUDA is in the host.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <vector>

namespace {

template <class Function>
Function* function(void* module, const char* name) {
    return reinterpret_cast<Function*>(dlsym(module, name));
}

void* opened(const char* file, int flags) {
    void* const library = dlopen(file, flags);
    if (library == nullptr)
        std::printf("%s\n", dlerror());
    return library;
}

}  // namespace

int main(int argc, char** argv) {
    constexpr const char* global = "global:";
    std::vector<void*> modules;
    for (int i = 1; i < argc; ++i) {
        const bool for_all = std::strncmp(argv[i], global, std::strlen(global)) == 0;
        void* const library = for_all ? opened(argv[i] + std::strlen(global), RTLD_NOW | RTLD_GLOBAL)
                                      : opened(argv[i], RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr)
            return 3;
        if (!for_all)
            modules.push_back(library);
    }
    const auto tell = [&] {
        for (void* const module : modules)
            function<void()>(module, "module_tell")();
    };
    tell();
    void* const input = function<void*()>(modules.front(), "module_capture")();
    const auto replay = function<void()>(modules.front(), "module_replay");
    replay();
    function<void(void*)>(modules.back(), "module_free")(input);
    replay();
    tell();
    return 0;
}
