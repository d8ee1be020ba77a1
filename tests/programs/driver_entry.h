// SPDX-License-Identifier: Apache-2.0
//
// CU(cuMemAlloc)(arguments...): one driver function, found by dlopen and dlsym or, with KG_OVER_LINKED, linked.
#pragma once

#include <cuda.h>
#include <dlfcn.h>

// The macro's argument is expanded before it becomes text, so cuMemAlloc is looked up as cuMemAlloc_v2, or as a _ptsz
// name: the name that a program compiled with these headers would be linked to.
#ifdef KG_OVER_LINKED
#define CU(name) ::name
#else
namespace gpu {

inline void* look_up(const char* name) {
    static void* library = dlopen("libcuda.so.1", RTLD_NOW);
    return library != nullptr ? dlsym(library, name) : nullptr;
}

template <class Function, class... Arguments>
CUresult call(Function function, Arguments... arguments) {
    return function != nullptr ? function(arguments...) : CUDA_ERROR_NOT_FOUND;
}

}  // namespace gpu

#define KG_TEXT_OF(name) #name
#define KG_TEXT(name) KG_TEXT_OF(name)
#define KG_ENTRY(name)                                                                              \
    ([]() {                                                                                         \
        static const auto entry = reinterpret_cast<decltype(&::name)>(gpu::look_up(KG_TEXT(name))); \
        return entry;                                                                               \
    }())
#define CU(name) [](auto... arguments) { return gpu::call(KG_ENTRY(name), arguments...); }
#endif
