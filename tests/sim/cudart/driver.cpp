// SPDX-License-Identifier: Apache-2.0
#include "driver.h"

#include <dlfcn.h>
#include <pthread.h>

namespace simrt {
namespace {

Driver table;
bool found = false;
pthread_once_t once = PTHREAD_ONCE_INIT;

void* ask(decltype(&::cuGetProcAddress_v2) look_up, const char* base, int version, cuuint64_t flags) {
    void* entry = nullptr;
    // The real one gives no place for the status: a look-up layer must survive the null.
    return look_up(base, &entry, version, flags, nullptr) == CUDA_SUCCESS ? entry : nullptr;
}

void open() {
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr) {
        return;
    }
    // Only this one name goes through dlsym. In the static archive the call leaves through the PLT of the program that
    // it is linked into, so a preloaded dlsym sees it; a direct call of libc's would blind every test of that path.
    auto exported = reinterpret_cast<decltype(&::cuGetProcAddress_v2)>(dlsym(library, "cuGetProcAddress_v2"));
    if (exported == nullptr) {
        dlclose(library);
        return;
    }
    // The empty name at version 0 is the real one's first question; what it is good for only NVIDIA knows.
    ask(exported, "", 0, 0);
    table.cuInit = reinterpret_cast<decltype(&::cuInit)>(ask(exported, "cuInit", 2000, 0));
    ask(exported, "cuGetProcAddress", 11030, 0);
    void* newest = ask(exported, "cuGetProcAddress", 12000, 0);
    table.look_up = newest != nullptr ? reinterpret_cast<decltype(&::cuGetProcAddress_v2)>(newest) : exported;
#define SLOT(base, version, decl) \
    table.decl = reinterpret_cast<decltype(&::decl)>(ask(table.look_up, #base, version, 0));
#define SLOT_PTSZ(base, version, decl) \
    table.decl##_ptsz = reinterpret_cast<decltype(&::decl)>(ask(table.look_up, #base, version, 2));
#define ASKED(base, version, flags) ask(table.look_up, #base, version, flags);
#include "lookups.def"
    found = true;
}

}  // namespace

const Driver* driver() {
    pthread_once(&once, open);
    return found ? &table : nullptr;
}

}  // namespace simrt
