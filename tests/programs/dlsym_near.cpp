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

int far_anchor();

__attribute__((visibility("default"))) int cuSomethingElse() {
    return ask_far("cuSomethingElse");
}
__attribute__((visibility("default"))) int cudnnCreate() {
    return ask_far("cudnnCreate");
}

// The far library follows in this one's scope, and in no other: null (another caller's scope) and its own address are
// wrong.
__attribute__((visibility("default"))) int ask_next() {
    if (far_anchor() != 3)  // the reference without which the linker drops the far library
        return 13;
    void* found = dlsym(RTLD_NEXT, "cudnnCreate");
    return found == nullptr ? 10 : found == reinterpret_cast<void*>(&cudnnCreate) ? 11 : 12;
}

// The default scope of a look-up is the caller's: a RTLD_LOCAL library sees its own names in it.
__attribute__((visibility("default"))) int ask_default() {
    void* found = dlsym(RTLD_DEFAULT, "cudnnCreate");
    return found == nullptr ? 20 : found == reinterpret_cast<void*>(&cudnnCreate) ? 21 : 22;
}
}
