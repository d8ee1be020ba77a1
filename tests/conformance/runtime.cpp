// SPDX-License-Identifier: Apache-2.0
#include "runtime.h"

#include <dlfcn.h>

#include <cstdio>

#include "fixture.h"

namespace conformance {
namespace {

enum class State { not_asked, missing, started };
State state = State::not_asked;

/// The newest first: which of them a machine has depends on its toolkit, and the rows are the same in all.
void* runtime_library() {
    static void* const library = [] {
        void* found = nullptr;
        for (const char* name : {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"}) {
            if (found == nullptr)
                found = dlopen(name, RTLD_NOW);
        }
        return found;
    }();
    return library;
}

}  // namespace

void* look_up_runtime(const char* symbol) {
    if (state != State::started)
        throw std::logic_error(std::string(symbol) + " in a PROBE that is no RUNTIME_PROBE");
    return dlsym(runtime_library(), symbol);
}

void start_runtime() {
    if (runtime_library() == nullptr) {
        if (state == State::not_asked) {
            std::fprintf(stderr,
                         "conformance: no libcudart.so.13, .12 or .11.0 here (set LD_LIBRARY_PATH): the RUNTIME rows "
                         "of symbols.def were not probed\n");
        }
        state = State::missing;
        throw Missing("libcudart");
    }
    state = State::started;
    MUST(RT(cudaFree)(nullptr));
    RT(cudaGetLastError)();
}

bool runtime_is_missing() {
    return state == State::missing;
}

void must(cudaError_t code, const char* step) {
    must(static_cast<CUresult>(code), step);
}

}  // namespace conformance
