// SPDX-License-Identifier: Apache-2.0
// Another preload, for chains of two: counts cudaMalloc and cuMemAlloc_v2 by plain interposition and forwards with
// RTLD_NEXT, as many home-made hooks do. It defines no dlsym. COUNTING_PRELOAD_PRINT=1 prints the counts at exit.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned long cuda_malloc_calls;
static unsigned long mem_alloc_calls;

__attribute__((visibility("default"))) int cudaMalloc(void** pointer, size_t size) {
    int (*next)(void**, size_t) = NULL;
    *(void**)&next = dlsym(RTLD_NEXT, "cudaMalloc");
    __atomic_add_fetch(&cuda_malloc_calls, 1, __ATOMIC_RELAXED);
    return next != NULL ? next(pointer, size) : 3;  // 3: not initialised, in both APIs
}

__attribute__((visibility("default"))) int cuMemAlloc_v2(unsigned long long* pointer, size_t size) {
    int (*next)(unsigned long long*, size_t) = NULL;
    *(void**)&next = dlsym(RTLD_NEXT, "cuMemAlloc_v2");
    __atomic_add_fetch(&mem_alloc_calls, 1, __ATOMIC_RELAXED);
    return next != NULL ? next(pointer, size) : 3;
}

__attribute__((destructor)) static void print_counts(void) {
    const char* wanted = getenv("COUNTING_PRELOAD_PRINT");
    if (wanted != NULL && wanted[0] == '1') {
        fprintf(stderr, "counting_preload: cudaMalloc %lu, cuMemAlloc_v2 %lu\n", cuda_malloc_calls, mem_alloc_calls);
    }
}
