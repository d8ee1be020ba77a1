// SPDX-License-Identifier: Apache-2.0
// The library that looks its own names up elsewhere: see dlsym_probe.cpp.
#include <dlfcn.h>

#include <string>

namespace {

using Function = int (*)();

// The far library lies beside this one.
int ask_far(const char* name) {
    Dl_info info = {};
    dladdr(reinterpret_cast<void*>(&ask_far), &info);
    std::string path = info.dli_fname;
    path = path.substr(0, path.rfind('/')) + "/libdlsym_far.so";
    void* far = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    const auto found = reinterpret_cast<Function>(far != nullptr ? dlsym(far, name) : nullptr);
    return found != nullptr ? 100 + found() : -2;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int cuSomethingElse() {
    return ask_far("cuSomethingElse");
}
__attribute__((visibility("default"))) int cudnnCreate() {
    return ask_far("cudnnCreate");
}

// Nothing follows this library in its own scope that has the name: null is right, its own address is wrong.
__attribute__((visibility("default"))) int ask_next() {
    void* found = dlsym(RTLD_NEXT, "cudnnCreate");
    return found == nullptr ? 10 : found == reinterpret_cast<void*>(&cudnnCreate) ? 11 : 12;
}

// The default scope of a look-up is the caller's: a RTLD_LOCAL library sees its own names in it.
__attribute__((visibility("default"))) int ask_default() {
    void* found = dlsym(RTLD_DEFAULT, "cudnnCreate");
    return found == nullptr ? 20 : found == reinterpret_cast<void*>(&cudnnCreate) ? 21 : 22;
}
}
